package markdown

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What each platform would take for a mention.
var (
	discordMention  = regexp.MustCompile(`(?i)@everyone|@here|<@[!&]?\d+>`)
	slackMention    = regexp.MustCompile(`<[!@#]`)
	slackName       = regexp.MustCompile(`(^|[^\w])@(channel|here|everyone)`)
	telegramMention = regexp.MustCompile(`(^|[^\w])@[A-Za-z]\w{2,}`)
	discordCode     = regexp.MustCompile("(?s)```.*?```|`+[^`]*`+")
)

// cases/attacks 54: @everyone, <!channel>, a link that is not what it says.
func TestAttack54ModelOutputPingsNobody(t *testing.T) {
	for _, src := range []string{"@everyone", "@here now", "hey @Everyone!", "<@123>", "<@!123>", "<@&123>", "<!channel>", "<!here|here>", "<@U123>", "<#C1>",
		"<!subteam^S1>", "@**every**one", "@`x`everyone", "&#64;everyone", "\\@everyone", "\\<!channel>", "&lt;!channel&gt;", "[@everyone](http://a.example)",
		"[x](<!channel>)", "| @everyone | <!channel> |\n|---|---|\n| <@1> | @here |", "# @everyone", "> @here", "<!-- @everyone -->", "<b>@everyone</b>", "@![](javascript:x)everyone",
		"<![](javascript:x)!channel>", "@someone", "(@someone)", "<\n@1>", "~~@~~everyone", "@\u200deveryone", "@&#8203;here", "<@\\123>", "<https://a.example|<!channel>>", "    `````@everyone",
		"    ````````` @here", "~~~\n`````\n@everyone\n~~~"} {
		checkInert(t, src)
	}
	rapid.Check(t, func(t *rapid.T) { checkInert(t, soup().Draw(t, "src")) })
}

func checkInert(t interface{ Fatalf(string, ...any) }, src string) {
	noCode := func(s string) string {
		return discordCode.ReplaceAllString(strings.NewReplacer("\\`", "'", "%60", "'").Replace(s), "` `")
	}
	if out := noCode(Discord(src)); discordMention.MatchString(out) {
		t.Fatalf("discord: %q gives %q", src, out)
	}
	if out := SlackMrkdwn(src); slackMention.MatchString(out) {
		t.Fatalf("mrkdwn: %q gives %q", src, out)
	}
	if out := noCode(SlackBlock(src)); slackMention.MatchString(out) || slackName.MatchString(out) {
		t.Fatalf("block: %q gives %q", src, out)
	}
	text, entities := Telegram(src)
	units := UTF16Len(text)
	masked := []rune{}
	at := 0
	for _, r := range text { // what is code links nothing
		width := UTF16Len(string(r))
		for _, e := range entities {
			if (e.Type == "code" || e.Type == "pre") && e.Offset <= at && at < e.Offset+e.Length {
				r = ' '
			}
		}
		masked = append(masked, r)
		at += width
	}
	if at != units || telegramMention.MatchString(string(masked)) && !strings.Contains(src, "://") {
		t.Fatalf("telegram: %q gives %q", src, string(masked))
	}
}

func TestAttack54ALinkDoesNotSayThatItLeadsElsewhere(t *testing.T) {
	for _, c := range []struct{ src, text, url string }{
		{"[https://bank.example](https://evil.example/x)", "https://bank.example (https://evil.example/x)", ""},
		{"[bank.com](https://evil.example)", "bank.com (https://evil.example)", ""},
		{"[log in at www.bank.com now](https://evil.example)", "log in at www.bank.com now (https://evil.example)", ""},
		{"[https://bank.com](https://bank.com@evil.example/)", "https://bank.com (https://bank.com@evil.example/)", ""},
		{"[`bank.com`](https://bank.com.evil.example)", "bank.com (https://bank.com.evil.example)", ""},
		{"[b\u200bank.com](https://evil.example)", "b\u200bank.com (https://evil.example)", ""},
		{"[**bank**.com](https://evil.example)", "bank.com (https://evil.example)", ""},
		{"![bank.com](https://evil.example)", "bank.com (https://evil.example)", ""},
		{"[bank.com](https://bank.com/login)", "bank.com", "https://bank.com/login"},
		{"[bank.com](https://www.bank.com/login)", "bank.com", "https://www.bank.com/login"},
		{"[README.md](https://git.example/README.md)", "README.md", "https://git.example/README.md"},
		{"[v1.2.3](https://git.example/v1)", "v1.2.3", "https://git.example/v1"},
		{"[x](javascript:alert(1))", "x", ""},
		{"[x](data:text/html,hi)", "x", ""},
		{"[x](tg://user?id=1)", "x", ""},
		{"[x](file:///etc/passwd)", "x (file:///etc/passwd)", ""},
		{"[main.go](./cmd/main.go)", "main.go", ""},
		{"[write](mailto:a@b.example)", "write (mailto:a@b.example)", ""},
		{"[a@b.example](mailto:a@b.example)", "a@b.example", ""},
		{"[x](#part)", "x", ""},
		{"[](https://a.example)", "https://a.example", ""},
		{"[x](https://)", "x (https://)", ""},
	} {
		text, entities := Telegram(c.src)
		url := ""
		for _, e := range entities {
			if e.Type == "text_link" {
				url = e.URL
			}
		}
		if text != c.text || url != c.url {
			t.Errorf("%s: %q leads to %q", c.src, text, url)
		}
		for name, out := range map[string]string{"discord": Discord(c.src), "mrkdwn": SlackMrkdwn(c.src), "block": SlackBlock(c.src)} {
			linked := strings.Contains(out, "](") || strings.Contains(out, "|")
			if linked != (c.url != "") {
				t.Errorf("%s: %s gives %s", name, c.src, out)
			}
		}
	}
}
