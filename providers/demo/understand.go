package demo

import (
	"clawbot/internal/lazyregexp"
	"encoding/json"
	"strconv"
	"strings"
)

// skill is something the demo model understands.
type skill struct {
	pattern *lazyregexp.Regexp
	// make returns the ask's steps; nil means that it does not fit after all.
	make func(m []string, text string, before []string) func([][]outcome, toolbox) step
}

const file = "[`\"'“‘]?([\\w][\\w./-]*\\.[A-Za-z][A-Za-z0-9]{0,7}|(?:README|LICENSE|CHANGELOG|Makefile|Dockerfile))[`\"'”’]?"

// skills, the most particular first.
var skills = []skill{
	{lazyregexp.New(`(?is)^\s*(?:call|use)\s+(?:the tool\s+)?([\w-]+)\s+(?:with\s+)?(\{.*\})\s*$`), callAnything},
	{lazyregexp.New(`(?is)\b(?:replace|change)\s+["“'` + "`" + `]?(.+?)["”'` + "`" + `]?\s+(?:with|to|into|by)\s+["“'` + "`" + `]?(.+?)["”'` + "`" + `]?\s+in\s+(?:the file\s+)?` + file), replaceText},
	{lazyregexp.New(`(?is)\b(?:write|put|save|store)\s+["“'` + "`" + `]?(.+?)["”'` + "`" + `]?\s+(?:to|into|in|as)\s+(?:a |the |my )?(?:new )?(?:file\s+)?(?:called |named )?` + file), writeText},
	{lazyregexp.New(`(?is)\b(?:create|make|write)\s+(?:a |the )?(?:new )?(?:file\s+)?(?:called |named )?` + file + `\s+(?:with|containing|saying|that says)(?: the text| the content)?:?\s+["“'` + "`" + `]?(.+?)["”'` + "`" + `]?\s*$`), createFile},
	{lazyregexp.New(`(?i)\b(?:search|grep|look)(?: (?:in )?(?:the )?(?:workspace|files|everything))? for\s+["“'` + "`" + `]?(.+?)["”'` + "`" + `]?(?:\s+in\s+(?:the\s+)?(?:workspace|files|folder|everything).*)?[.?!]?\s*$`), searchFor},
	{lazyregexp.New(`(?i)\b(?:fetch|get|open|read|download|load|look at)\s+(https?://\S+)`), fetchPage},
	{lazyregexp.New(`(?is)^\W*(?:please )?(?:run|execute|exec)\s+(?:the command\s+)?` + "[`\"'“]?(.+?)[`\"'”]?" + `\s*[.!]?$`), runCommand},
	{lazyregexp.New(`(?i)\b(?:tour|what you can do with tools|show (?:me )?(?:off|what you can))\b`), tour},
	{lazyregexp.New(`(?i)\b(?:read|show|open|cat|view|look at|look into|print|display|check|what'?s in|what is in|what does|tell me|summari[sz]e|how many|first|last|heading)\b.*?` + file), readFile},
	{lazyregexp.New(`(?i)^\W*` + file + `\W*$`), readFile},
	{lazyregexp.New(`(?i)\b(?:list|ls|dir|(?:what|which)(?:'s| is| are)?(?: the)? files?|(?:show|see)(?: me)?(?: the| my| all)? (?:files|folders?|director(?:y|ies)|workspace)|what(?:'s| is) (?:here|there|in (?:the|my|your|this) (?:workspace|folder|directory)))\b(?:.*?\b(?:in|of|under)\s+(?:the\s+|my\s+)?(?:folder\s+|directory\s+)?[` + "`" + `"']?([\w./-]+)[` + "`" + `"']?)?`), listFiles},
	{lazyregexp.New(`(?i)\bcount(?:ing)?\b(?:.*?\b(?:from|to|up to|until|till)\b)?\D*?(\d{1,4})(?:\D+(\d{1,4}))?`), count},
	{lazyregexp.New(`(?i)\b(?:time|clock|date|day is it|what day)\b`), tellTime},
	{lazyregexp.New(`(?i)\b(?:long (?:answer|text|reply|story)|how (?:a|the|my|this) message travels|message travels|tell me (?:a|some) (?:long )?stor|write (?:me )?(?:a|an) (?:long|essay|story|poem))`), longAnswer},
	{lazyregexp.New(`(?i)\b(?:what did i (?:say|ask|write)|what have i (?:said|asked)|do you remember|my (?:first|last|previous) (?:message|question))\b`), recall},
	{lazyregexp.New(`(?i)^\W*(?:thanks?|thank you|thx|great|nice|cool|perfect|ok(?:ay)?|good)\b.{0,30}$`), constant("You're welcome. I'm still only the demo model, but happy to do something else: a tool, a long answer, or counting.")},
	{lazyregexp.New(`(?i)^\W*(?:bye|good ?bye|see you|ciao)\b.{0,30}$`), constant("Goodbye! The conversation is kept; write again whenever you like.")},
	{lazyregexp.New(`(?i)^\W*(?:hi|hello|hey|hallo|hola|good (?:morning|afternoon|evening|day)|moin|servus)\b.{0,40}$`), constant(greeting)},
	{lazyregexp.New(`(?i)\b(?:help|who are you|what are you|what can you do|what do you do|are you (?:an? )?(?:ai|bot|real|human|model)|how do (?:i|you)|explain yourself|introduce yourself|demo)\b`), constant(greeting)},
	{lazyregexp.New(`(?i)\b(?:say|repeat|echo)\b(?: after me)?:?\s+["“'` + "`" + `]?(.+?)["”'` + "`" + `]?\s*$`), echo},
}

// understand returns the ask that text makes.
func understand(text string, before []string) *ask {
	for _, s := range skills {
		if m := s.pattern.FindStringSubmatch(text); m != nil {
			if next := s.make(m, text, before); next != nil {
				return &ask{text: text, next: next}
			}
		}
	}
	return &ask{text: text, next: func([][]outcome, toolbox) step { return said(lost(text)) }}
}

const greeting = "Hello! I am clawbot's built-in **demo model**: a small program without any intelligence, " +
	"here so that you can see the bot work before you give it a real model. I run offline and always answer alike.\n\n" +
	"Things that I understand:\n\n" +
	"- `read README.md and tell me its first heading`: I call a tool and answer from its result\n" +
	"- `list the files`, `time in Lima and Tokyo`, `search for clawbot`\n" +
	"- `write \"hello world\" to test.txt`, then `replace world with openclaw in test.txt`: several steps\n" +
	"- `count to 30 slowly`: say something meanwhile and I take it up, or stop me with /stop\n" +
	"- `a long answer`: streamed text with a table and code\n\n" +
	"For a real model, put its key into the environment (for example `ANTHROPIC_API_KEY`) or set `agent.model` in the configuration."

// lost is the answer to what is not understood.
func lost(text string) string {
	return "I don't understand " + quote(text) + ": I am only the built-in demo model, a small program that knows a handful of sentences. " +
		"Try `read README.md and tell me its first heading`, `time in Lima`, `list the files`, `count to 30 slowly` or `a long answer`. " +
		"Say `help` for all of it, or set `agent.model` to a real model, which will understand you."
}

func constant(text string) func([]string, string, []string) func([][]outcome, toolbox) step {
	return func([]string, string, []string) func([][]outcome, toolbox) step {
		return func([][]outcome, toolbox) step { return said(text) }
	}
}

func echo(m []string, _ string, _ []string) func([][]outcome, toolbox) step {
	return func([][]outcome, toolbox) step { return said(m[1]) }
}

func callAnything(m []string, _ string, _ []string) func([][]outcome, toolbox) step {
	var args map[string]any
	if json.Unmarshal([]byte(m[2]), &args) != nil {
		return nil
	}
	return once(m[1], func(toolbox) map[string]any { return args }, func(o outcome) string {
		return "`" + m[1] + "` answered:\n\n" + fence(o.text)
	})
}

// once is an ask that one call answers.
func once(tool string, args func(toolbox) map[string]any, tell func(outcome) string) func([][]outcome, toolbox) step {
	return func(rounds [][]outcome, tools toolbox) step {
		if o, ok := last(rounds); ok {
			if o.failed {
				return said(failed(o))
			}
			return said(tell(o))
		}
		if !tools.has(tool) {
			return tools.missing(tool)
		}
		return step{calls: []call{{tool, args(tools)}}}
	}
}

// last returns the outcome of the last call, unless it has to be made again
// because it was skipped for a message that came in.
func last(rounds [][]outcome) (outcome, bool) {
	if len(rounds) == 0 || len(rounds[len(rounds)-1]) == 0 {
		return outcome{}, false
	}
	o := rounds[len(rounds)-1][0]
	if skipped(o) && len(rounds) < 4 {
		return outcome{}, false
	}
	return o, true
}

func skipped(o outcome) bool { return o.failed && strings.HasPrefix(o.text, "Skipped") }

func failed(o outcome) string {
	reason := strings.TrimSpace(o.text)
	if reason == "" {
		reason = "it gave no reason"
	}
	return "That did not work: `" + o.tool + "` says: " + reason
}

func fence(text string) string {
	text = strings.TrimRight(text, "\n")
	if lines := strings.Split(text, "\n"); len(lines) > 40 {
		text = strings.Join(lines[:40], "\n") + "\n… (" + strconv.Itoa(len(lines)-40) + " more lines)"
	}
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks + "\n" + text + "\n" + marks
}

func recall(_ []string, _ string, before []string) func([][]outcome, toolbox) step {
	return func([][]outcome, toolbox) step {
		if len(before) == 0 {
			return said("This is the first thing you say in this conversation.")
		}
		from := max(0, len(before)-5)
		var out strings.Builder
		out.WriteString("In this conversation you said, the latest last:\n")
		for _, text := range before[from:] {
			out.WriteString("\n- " + quote(text))
		}
		return said(out.String())
	}
}
