package slack

import "testing"

func TestATextReadsAsThePersonSawIt(t *testing.T) {
	me := &identity{team: "T1", user: "UBOT"}
	name := func(id string) string { return map[string]string{"U1": "Ana"}[id] }
	for raw, want := range map[string]string{
		"<@UBOT> hello":                             "hello",
		"<@UBOT>: hello":                            "hello",
		"<@UBOT|clawbot>, hello":                    "hello",
		"hello <@UBOT>":                             "hello",
		"hello <@UBOT>!":                            "hello!",
		"say <@UBOT> hello":                         "say hello",
		"<@UBOT><@UBOT> hello":                      "hello",
		"<@UBOTTOM> hello":                          "@UBOTTOM hello",
		"ask <@U1> or <@U2|ben>":                    "ask @Ana or @ben",
		"in <#C1|general> and <#C2>":                "in #general and #C2",
		"<!here> and <!subteam^S1|@ops> and <!x^y>": "@here and @ops and @x",
		"<!date^1^{date}|in May>":                   "in May",
		"see <https://e.org>":                       "see https://e.org",
		"see <https://e.org|e.org>":                 "see https://e.org",
		"see <https://e.org/?a=1&amp;b=2|the page>": "see the page (https://e.org/?a=1&b=2)",
		"<mailto:a@e.org|a@e.org>":                  "a@e.org",
		"1 &lt; 2 &amp;&amp; 3 &gt; 2":              "1 < 2 && 3 > 2",
		"&amp;lt; stays":                            "&lt; stays",
		"<@UBOT> 🙂 what":                            "🙂 what",
		":tada: :slightly_smiling_face: /stop":      "/stop",
		":tada: no command /stop":                   ":tada: no command /stop",
		"10:30: /x":                                 "10:30: /x",
		"<@UBOT> /status":                           "/status",
		"a < b":                                     "a < b",
		"<":                                         "<",
		"<>":                                        "<>",
		"<@>":                                       "@",
		"<!>":                                       "@",
		"  spaces  kept  ":                          "spaces  kept",
	} {
		if got := me.plain(raw, name); got != want {
			t.Errorf("%q reads %q, want %q", raw, got, want)
		}
	}
}

func TestMentionsAreTold(t *testing.T) {
	me := &identity{user: "UBOT"}
	for raw, want := range map[string][2]bool{
		"<@UBOT> x": {true, false}, "x <@UBOT|claw>": {true, false}, "<@UBOTTOM> x": {false, true}, "<@U1> <@UBOT>": {true, false},
		"x <@U1>": {}, "UBOT": {}, "<@UBOT": {}, "": {},
	} {
		if bot, other := me.mentioned(raw); bot != want[0] || other != want[1] && raw != "<@UBOT" {
			t.Errorf("%q: bot %v, somebody else %v", raw, bot, other)
		}
	}
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"<@UBOT> x", "<!a^b|c>", "<https://e.org|e>", "&lt;", ":a: /b", "<@UBOT", "a <@UBOT>, b"} {
		f.Add(seed)
	}
	me := &identity{user: "UBOT"}
	f.Fuzz(func(t *testing.T, raw string) {
		me.mentioned(raw)
		if got := me.plain(raw, func(string) string { return "" }); len(got) > 2*len(raw)+8 {
			t.Errorf("%q grew to %q", raw, got)
		}
	})
}
