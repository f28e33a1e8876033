package slack

import (
	"testing"

	"clawbot/channels"
)

func TestASlashCommandInAChannelGoesToTheThreadThatItsUserWroteInLast(t *testing.T) {
	r := start(t)
	r.must(r.bot.RegisterCommands(r.ctx, []channels.Command{{Name: "stop"}, {Name: "status"}}))
	r.Slash(general, ana, "/clawbot", "status")
	if in := r.next("/status"); in.Target.Thread != "" {
		t.Errorf("before anything was said it goes to %+v", in.Target)
	}
	to := r.thread()
	r.Slash(general, ben, "/clawbot", "status")
	r.Slash(general, ana, "/clawbot", "stop")
	in := r.next("/stop")
	if in.Target.Conversation != to.Conversation || in.Target.Thread != to.Thread || in.Target.User != ana {
		t.Errorf("it goes to %+v, not %+v", in.Target, to)
	}
	_, err := r.bot.Post(r.ctx, in.Target, channels.Outgoing{Markdown: "Stopped.", Private: true})
	r.must(err)
	if hidden := r.Ephemeral(general); len(hidden) != 1 || hidden[0].Thread != "" || hidden[0].OnlyFor != ana {
		t.Errorf("the answer is not where it was asked: %+v", hidden)
	}
	r.Slash(general, ana, "/clawbot", "what is new?")
	if in := r.next("what is new?"); in.Target.Thread != "" {
		t.Errorf("a question goes to %+v", in.Target)
	}
	if all := r.settled(); all[2].Target.Thread != "" && all[2].Sender.ID == ben {
		t.Errorf("somebody else's command goes to %+v", all[2].Target)
	}
}

func TestASlashCommandIsACommandOrAQuestion(t *testing.T) {
	r := start(t)
	r.must(r.bot.RegisterCommands(r.ctx, []channels.Command{{Name: "stop"}, {Name: "new"}}))
	for given, want := range map[[2]string]string{
		{"/clawbot", "stop it"}: "/stop it", {"/clawbot", "/new thing"}: "/new thing", {"/clawbot", "what is up?"}: "what is up?",
		{"/clawbot", ""}: "/help", {"/stop", "now"}: "/stop now",
	} {
		r.Slash(anaDM, ana, given[0], given[1])
		in := r.next(want)
		if in.Text != want || in.Kind != channels.Message || !in.Addressed || in.Target.Conversation != "slack:T0TEAM:"+anaDM || in.Sender.ID != ana || in.EventID == "" {
			t.Errorf("%v is read as %+v", given, in)
		}
	}
	r.settled()
}
