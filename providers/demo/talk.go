package demo

import (
	"clawbot/internal/lazyregexp"
	"fmt"
	"strconv"
	"strings"
)

// counted is how many numbers are said between two looks at the clock, where a
// message that came in is seen.
const counted = 5

// count counts in several steps. Between them it looks at the clock, which is
// harmless, so that what was said meanwhile reaches it soon.
func count(m []string, text string, _ []string) stepper {
	from, to := 1, number(m[1])
	if m[2] != "" {
		from, to = number(m[1]), number(m[2])
	}
	to = max(from, min(to, from+199))
	slow := strings.Contains(strings.ToLower(text), "slow")
	return func(rounds [][]outcome, tools toolbox) step {
		pause := wordPause
		if slow {
			pause = slowPause
		}
		first := from + counted*len(rounds)
		last := to
		if slow && tools.has("current_time") {
			last = min(to, first+counted-1)
		}
		var b strings.Builder
		for n := first; n <= last; n++ {
			fmt.Fprintf(&b, "%d\n", n)
		}
		s := step{parts: []part{{b.String(), pause}}}
		if last < to {
			s.calls = []call{{"current_time", map[string]any{}}}
			return s
		}
		s.parts = append(s.parts, part{fmt.Sprintf("\nThat was %d.", to), wordPause})
		return s
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 1
	}
	return n
}

// zones are the places whose time can be asked for.
var zones = []struct{ place, zone string }{
	{"new york", "America/New_York"}, {"los angeles", "America/Los_Angeles"}, {"san francisco", "America/Los_Angeles"},
	{"mexico city", "America/Mexico_City"}, {"são paulo", "America/Sao_Paulo"}, {"sao paulo", "America/Sao_Paulo"},
	{"buenos aires", "America/Argentina/Buenos_Aires"}, {"hong kong", "Asia/Hong_Kong"}, {"cape town", "Africa/Johannesburg"},
	{"chicago", "America/Chicago"}, {"denver", "America/Denver"}, {"toronto", "America/Toronto"}, {"bogotá", "America/Bogota"},
	{"bogota", "America/Bogota"}, {"lima", "America/Lima"}, {"santiago", "America/Santiago"}, {"caracas", "America/Caracas"},
	{"london", "Europe/London"}, {"dublin", "Europe/Dublin"}, {"lisbon", "Europe/Lisbon"}, {"madrid", "Europe/Madrid"},
	{"paris", "Europe/Paris"}, {"berlin", "Europe/Berlin"}, {"munich", "Europe/Berlin"}, {"vienna", "Europe/Vienna"},
	{"zurich", "Europe/Zurich"}, {"rome", "Europe/Rome"}, {"athens", "Europe/Athens"}, {"helsinki", "Europe/Helsinki"},
	{"stockholm", "Europe/Stockholm"}, {"oslo", "Europe/Oslo"}, {"warsaw", "Europe/Warsaw"}, {"kyiv", "Europe/Kyiv"},
	{"moscow", "Europe/Moscow"}, {"istanbul", "Europe/Istanbul"}, {"cairo", "Africa/Cairo"}, {"lagos", "Africa/Lagos"},
	{"nairobi", "Africa/Nairobi"}, {"johannesburg", "Africa/Johannesburg"}, {"dubai", "Asia/Dubai"}, {"tehran", "Asia/Tehran"},
	{"karachi", "Asia/Karachi"}, {"delhi", "Asia/Kolkata"}, {"mumbai", "Asia/Kolkata"}, {"bangalore", "Asia/Kolkata"},
	{"kathmandu", "Asia/Kathmandu"}, {"dhaka", "Asia/Dhaka"}, {"bangkok", "Asia/Bangkok"}, {"jakarta", "Asia/Jakarta"},
	{"singapore", "Asia/Singapore"}, {"beijing", "Asia/Shanghai"}, {"shanghai", "Asia/Shanghai"}, {"taipei", "Asia/Taipei"},
	{"seoul", "Asia/Seoul"}, {"tokyo", "Asia/Tokyo"}, {"sydney", "Australia/Sydney"}, {"melbourne", "Australia/Melbourne"},
	{"perth", "Australia/Perth"}, {"auckland", "Pacific/Auckland"}, {"honolulu", "Pacific/Honolulu"}, {"utc", "UTC"}, {"gmt", "UTC"},
}

var (
	ianaZone  = lazyregexp.New(`\b[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+(?:/[A-Z][A-Za-z_]+)?\b`)
	placeName = lazyregexp.New(`(?i)\b(?:in|at|for)\s+([\p{L} .'-]{2,40}?)(?:\s+(?:right )?now)?[?.!]*$`)
)

// placesIn returns the places that text names, in its order, and their zones.
func placesIn(text string) (places, names []string) {
	for _, zone := range ianaZone.FindAllString(text, -1) {
		places, names = append(places, zone), append(names, zone)
	}
	lower := strings.ToLower(text)
	type found struct {
		at          int
		place, zone string
	}
	var all []found
	for _, z := range zones {
		at := strings.Index(lower, z.place)
		if at < 0 || at > 0 && isLetter(lower[at-1]) || at+len(z.place) < len(lower) && isLetter(lower[at+len(z.place)]) {
			continue
		}
		f := found{at, text[at : at+len(z.place)], z.zone}
		i := len(all)
		for i > 0 && all[i-1].at > at {
			i--
		}
		all = append(all[:i], append([]found{f}, all[i:]...)...)
	}
	for _, f := range all {
		if len(names) == 0 || names[len(names)-1] != f.zone {
			places, names = append(places, f.place), append(names, f.zone)
		}
	}
	return places, names
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 0x80 }

// tellTime asks the clock, once for each place, at the same time.
func tellTime(_ []string, text string, _ []string) stepper {
	places, names := placesIn(text)
	if len(names) == 0 {
		if m := placeName.FindStringSubmatch(text); m != nil {
			return constant("I know the time zones of some sixty cities, and “"+strings.TrimSpace(m[1])+
				"” is not among them. Name the zone, for example `time in America/Lima`.")(nil, "", nil)
		}
		places, names = []string{""}, []string{""}
	}
	return func(rounds [][]outcome, tools toolbox) step {
		if !tools.has("current_time") {
			return tools.missing("current_time")
		}
		if _, ok := last(rounds); !ok {
			return step{calls: clockCalls(tools, names)}
		}
		var b strings.Builder
		for i, o := range rounds[len(rounds)-1] {
			switch {
			case o.failed:
				b.WriteString(failed(o) + "\n")
			case i < len(places) && places[i] != "":
				fmt.Fprintf(&b, "In %s it is %s.\n", places[i], strings.TrimSpace(o.text))
			default:
				fmt.Fprintf(&b, "It is %s.\n", strings.TrimSpace(o.text))
			}
		}
		return said(strings.TrimRight(b.String(), "\n"))
	}
}

func clockCalls(tools toolbox, names []string) []call {
	key := tools.argument("current_time", "zone", "timezone", "time_zone", "tz")
	var calls []call
	for _, zone := range names {
		args := map[string]any{}
		if zone != "" {
			args[key] = zone
		}
		calls = append(calls, call{"current_time", args})
	}
	return calls
}

// tour makes several calls at once and answers from all of them.
func tour([]string, string, []string) stepper {
	return func(rounds [][]outcome, tools toolbox) step {
		if _, ok := last(rounds); ok {
			var b strings.Builder
			b.WriteString("Three tools ran side by side:\n")
			for _, o := range rounds[len(rounds)-1] {
				fmt.Fprintf(&b, "\n`%s` answered:\n\n%s\n", o.tool, fence(o.text))
			}
			b.WriteString("\nThat is all there is to a tool call. Try `count to 30 slowly`, and say something meanwhile.")
			return said(b.String())
		}
		var calls []call
		for _, c := range []call{{"list_dir", map[string]any{"path": "."}}, {"read_file", map[string]any{"path": "README.md"}}, {"current_time", map[string]any{}}} {
			if tools.has(c.tool) {
				calls = append(calls, c)
			}
		}
		if len(calls) == 0 {
			return tools.missing("list_dir")
		}
		return step{parts: []part{{"I look around: the files, README.md and the clock, all at once. ", wordPause}}, calls: calls}
	}
}

func longAnswer([]string, string, []string) stepper {
	return func([][]outcome, toolbox) step { return step{parts: []part{{journey, longPause}}} }
}

const journey = `# How a message travels through clawbot

You write a message. Before anything else happens, it is **written down**: the
channel hands it to the gateway, the gateway decides whether you may speak here,
and the store puts it into the inbox of this conversation. Only then is it
acknowledged, so a message that was taken is never lost.

| Step | Who | What happens |
|---|---|---|
| 1 | channel | makes one shape of what Slack, Discord, Telegram or this page sent |
| 2 | gateway | checks the sender, reads commands, finds the session |
| 3 | store | keeps the message in the inbox, once |
| 4 | runner | takes the session's lease and drains the inbox |
| 5 | loop | asks the model, runs its tools, asks again |
| 6 | reply | edits one message as fast as the platform allows |

The loop in the middle is small. In Go it reads about like this:

` + "```go" + `
for event, err := range loop.Run(ctx, prompts) {
	if err != nil {
		return err // a precondition was violated
	}
	record(event) // durable before the next step
	reply.Show(event)
}
` + "```" + `

While the model writes, every word arrives as a *delta*. Deltas are cheap: each
is appended to the reply, and the reply is shown whenever its platform allows
the next edit. What you see last is always the whole text, whatever was slowed
down in between.

When the model wants to know something, it calls a **tool**: it reads a file,
looks at the clock, searches the workspace. Calls that do not disturb each other
run side by side. A tool that could do harm asks a person first.

And if you write while all this goes on? Then your message *steers*: it waits
for the running tools, and is in the very next thing that the model sees. Try it
with ` + "`count to 30 slowly`" + `. If you have heard enough, ` + "`/stop`" + ` ends the run at
once, and keeps what was said.

> None of this needed a model: I am a small program that pretends to be one. With
> a real model everything works the same way, only cleverer.

That is the whole journey: written down, decided, run, shown. Thank you for
reading this far.`
