package slack

import (
	"slices"
	"strings"
	"testing"

	"clawbot/channels/channeltest"
)

func titles(list []channeltest.SlackPrompt) []string {
	var out []string
	for _, p := range list {
		out = append(out, p.Message)
	}
	return out
}

func TestAConversationOfTheAgentViewGetsSuggestionsAndATitle(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{}, Config{Prompts: []string{"What can you do?", "Sum up {channel}"}})
	root := r.StartAssistant(ana, general)
	wanted := func(want ...string) func([]channeltest.SlackPrompt) bool {
		return func(list []channeltest.SlackPrompt) bool { return slices.Equal(titles(list), want) }
	}
	r.must(r.WaitPrompts(r.ctx, anaDM, root, wanted("What can you do?", "Sum up #c0general")))
	r.LookAt(ana, root, "C0OTHER")
	r.must(r.WaitPrompts(r.ctx, anaDM, root, wanted("What can you do?", "Sum up #c0other")))
	r.LookAt(ana, root, "")
	r.must(r.WaitPrompts(r.ctx, anaDM, root, wanted("What can you do?")))
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Thread: root, Text: "Please compare the three offers that came in yesterday and today\nthanks"})
	in := r.next("compare the three")
	if in.Target.Thread != root || !in.Target.Direct || !in.Addressed {
		t.Errorf("read as %+v", in)
	}
	r.must(r.WaitTitle(r.ctx, anaDM, root, func(title string) bool {
		return title == "Please compare the three offers that came in yesterday and…"
	}))
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Thread: root, Text: "and another thing"})
	r.next("another thing")
	r.post(in.Target, "answered")
	if m := r.Messages(anaDM); len(m) != 1 || m[0].Thread != root {
		t.Errorf("answered with %+v", m)
	}
	if n := r.CallCount("assistant.threads.setTitle"); n != 1 {
		t.Errorf("the title was given %d times", n)
	}
	r.OpenHome(ana)
	r.must(r.WaitPrompts(r.ctx, anaDM, "", wanted("What can you do?")))
	r.OpenHome(ana)
	r.settled()
	if n := r.CallCount("assistant.threads.setSuggestedPrompts"); n != 4 {
		t.Errorf("suggestions were made %d times", n)
	}
}

func TestAnAppThatIsNoAgentAnswersWithoutTitlesAndSuggestions(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{}, Config{Prompts: []string{"What can you do?"}})
	r.SetScopes("chat:write", "im:history", "users:read")
	root := r.StartAssistant(ana, "")
	r.must(r.WaitCalls(r.ctx, "assistant.threads.setSuggestedPrompts", 1))
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Thread: root, Text: "first"})
	r.next("first")
	again := r.StartAssistant(ana, "")
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Thread: again, Text: "second"})
	r.next("second")
	r.settled()
	if n := r.CallCount("assistant.threads.setSuggestedPrompts"); n != 1 {
		t.Errorf("it was tried %d times", n)
	}
}

func TestDirectThreadsMakeEachMessageAtTheTopAConversation(t *testing.T) {
	r := startWith(t, channeltest.SlackConfig{}, Config{DirectThreads: true})
	first := r.SendText(anaDM, ana, "one question")
	in := r.next("one question")
	if in.Target.Thread != first || in.Target.Conversation != "slack:T0TEAM:"+anaDM+":"+first {
		t.Errorf("read as %+v", in.Target)
	}
	r.Send(channeltest.SlackIncoming{Channel: anaDM, User: ana, Thread: first, Text: "more of it"})
	if more := r.next("more of it"); more.Target.Conversation != in.Target.Conversation {
		t.Errorf("its thread is %+v", more.Target)
	}
	r.SendText(anaDM, ana, "something else")
	if other := r.next("something else"); other.Target.Conversation == in.Target.Conversation {
		t.Error("two questions are one conversation")
	}
	r.Edit(anaDM, first, "one question, better put")
	if edit := r.next("better put"); edit.Target.Conversation != in.Target.Conversation {
		t.Errorf("its edit is in %+v", edit.Target)
	}
	r.must(r.WaitTitle(r.ctx, anaDM, first, func(title string) bool { return title == "one question" }))
}

func TestSlacksStopButtonEndsTheStreamAndTheSignAndIsACommand(t *testing.T) {
	r := start(t)
	to := r.thread()
	_, err := r.bot.Typing(r.ctx, to)
	r.must(err)
	r.must(r.WaitStatus(r.ctx, general, to.Thread, func(s string) bool { return s != "" }))
	r.PressStop(general, ana, to.Thread)
	if in := r.next("/stop"); in.Target.Conversation != to.Conversation || !in.Addressed || in.Sender.ID != ana || in.EventID == "" {
		t.Errorf("read as %+v", in)
	}
	r.must(r.WaitStatus(r.ctx, general, to.Thread, func(s string) bool { return s == "" }))
}

func TestAMessageIsAskedAboutWithAShortcutAndAForm(t *testing.T) {
	for _, mode := range []string{ModeSocket, ModeHTTP} {
		r := startWith(t, channeltest.SlackConfig{}, Config{Mode: mode})
		ts := r.Send(channeltest.SlackIncoming{Channel: general, User: ben, Text: "The build <failed> " + strings.Repeat("again ", 1000), Silent: true})
		r.MessageShortcut(general, ana, ts, askAbout)
		view, err := r.WaitView(r.ctx, ana)
		r.must(err)
		r.SubmitView(view, "  why?  ")
		in := r.next("why?")
		if in.Text != "why?" || !in.Addressed || in.Sender.ID != ana || in.Target.Thread != ts || in.Target.Chat != general || !strings.HasPrefix(in.Quote, "The build <failed> again") {
			t.Errorf("read as %+v", in)
		}
		r.MessageShortcut(general, ana, ts, "something of another app")
		r.SubmitView(view, "   ")
		if all := r.settled(); len(all) != 1 {
			t.Errorf("accepted: %+v", all)
		}
	}
}

func TestWhereTheBotIsNotTheFormSaysSo(t *testing.T) {
	r := start(t)
	ts := r.Send(channeltest.SlackIncoming{Channel: general, User: ben, Text: "a secret", Silent: true})
	r.Bar(general, "not_in_channel")
	r.MessageShortcut(general, ana, ts, askAbout)
	view, err := r.WaitView(r.ctx, ana)
	r.must(err)
	if view.Callback != "" || !strings.Contains(view.Words(), "/invite") {
		t.Errorf("the form is %+v", view)
	}
	ts = r.Send(channeltest.SlackIncoming{Channel: r.Direct(ben), User: ben, Text: "in private", Silent: true})
	r.MessageShortcut(r.Direct(ben), ben, ts, askAbout)
	if view, err = r.WaitView(r.ctx, ben); err != nil || view.Callback != askAbout {
		t.Errorf("the form is %+v, %v", view, err)
	}
}
