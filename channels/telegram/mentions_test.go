package telegram

import (
	"strings"
	"testing"
	"unicode/utf16"
)

var testBot = &identity{ID: 4711, Username: "clawbot_bot"}

// ent finds word in text and makes an entity of it.
func ent(kind, text, word string) entity {
	before, _, ok := strings.Cut(text, word)
	if !ok {
		panic(word + " is not in " + text)
	}
	return entity{Type: kind, Offset: len(utf16.Encode([]rune(before))), Length: len(utf16.Encode([]rune(word)))}
}

func TestMentionsAndCommandsAreUnderstoodInUTF16(t *testing.T) {
	const at = "@clawbot_bot"
	for _, c := range []struct {
		in, kind, word string
		want           string
		named          bool
	}{
		{"@clawbot_bot hi", "mention", at, "hi", true},
		{"@ClawBot_BOT hi", "mention", "@ClawBot_BOT", "hi", true},
		{"🙂 @clawbot_bot hi", "mention", at, "🙂 hi", true},
		{"👨‍👩‍👧🇩🇪 @clawbot_bot hi", "mention", at, "👨‍👩‍👧🇩🇪 hi", true},
		{"hey @clawbot_bot do it", "mention", at, "hey do it", true},
		{"hey @clawbot_bot, do it", "mention", at, "hey, do it", true},
		{"@clawbot_bot: do it", "mention", at, "do it", true},
		{"do it @clawbot_bot", "mention", at, "do it", true},
		{"do it\n@clawbot_bot\nnow", "mention", at, "do it\nnow", true},
		{"@clawbot_bot", "mention", at, "", true},
		{"@clawbot_bot2 hi", "mention", "@clawbot_bot2", "@clawbot_bot2 hi", false},
		{"@someone hi", "mention", "@someone", "@someone hi", false},
		{"/stop", "bot_command", "/stop", "/stop", true},
		{"/stop@clawbot_bot", "bot_command", "/stop@clawbot_bot", "/stop", true},
		{"/model@CLAWBOT_bot openai/gpt-5", "bot_command", "/model@CLAWBOT_bot", "/model openai/gpt-5", true},
		{"🙂 /stop", "bot_command", "/stop", "/stop", true},
		{"👍🏽/stop@clawbot_bot", "bot_command", "/stop@clawbot_bot", "/stop", true},
		{"1️⃣ /stop", "bot_command", "/stop", "/stop", true},
		{"  \n/stop now", "bot_command", "/stop", "/stop now", true},
		{"!!! /stop", "bot_command", "/stop", "/stop", true},
		{"/stop@other_bot", "bot_command", "/stop@other_bot", "/stop@other_bot", false},
		{"please /stop", "bot_command", "/stop", "please /stop", false},
		{"1 /stop", "bot_command", "/stop", "1 /stop", false},
		{"please /stop@clawbot_bot", "bot_command", "/stop@clawbot_bot", "please /stop", true},
		{"x @clawbot_bot", "hashtag", at, "x @clawbot_bot", false},
	} {
		m := &message{Text: c.in, Entities: []entity{ent(c.kind, c.in, c.word)}}
		if got, named := testBot.understand(m); got != c.want || named != c.named {
			t.Errorf("%q is understood as %q, named %v; want %q, %v", c.in, got, named, c.want, c.named)
		}
		m = &message{Caption: c.in, CaptionEntities: m.Entities}
		if got, named := testBot.understand(m); got != c.want || named != c.named {
			t.Errorf("the caption %q is understood as %q, named %v", c.in, got, named)
		}
	}
}

func TestAMentionBeforeACommandIsNoWord(t *testing.T) {
	text := "🙂 @clawbot_bot /stop please"
	m := &message{Text: text, Entities: []entity{ent("bot_command", text, "/stop"), ent("mention", text, "@clawbot_bot")}}
	if got, named := testBot.understand(m); got != "/stop please" || !named {
		t.Errorf("got %q, %v", got, named)
	}
}

func TestAMentionByNameOfABotWithoutLinkCounts(t *testing.T) {
	m := &message{Text: "🙂 Claw, hi", Entities: []entity{{Type: "text_mention", Offset: 3, Length: 4, User: &user{ID: 4711}}}}
	if got, named := testBot.understand(m); got != "🙂, hi" || !named {
		t.Errorf("got %q, %v", got, named)
	}
	m.Entities[0].User.ID = 1
	if got, named := testBot.understand(m); got != m.Text || named {
		t.Errorf("got %q, %v", got, named)
	}
}

func TestEntitiesThatDoNotFitAreIgnored(t *testing.T) {
	for _, e := range []entity{
		{"mention", -1, 12, nil}, {"mention", 0, 99, nil}, {"mention", 5, -1, nil}, {"mention", 1 << 40, 1, nil}, {"mention", 1, int(^uint(0) >> 1), nil},
		{"bot_command", 0, 0, nil}, {"text_mention", 0, 3, nil},
	} {
		if got, named := testBot.understand(&message{Text: "@clawbot_bot", Entities: []entity{e}}); got != "@clawbot_bot" || named {
			t.Errorf("%+v gives %q, %v", e, got, named)
		}
	}
}
