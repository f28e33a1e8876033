package admin

import (
	"net/http"
	"time"

	"clawbot/gateway"
)

// peoplePage is how many schedules, or people with a memory, are read at once.
const peoplePage = 200

// scheduleView is a schedule as it is listed.
type scheduleView struct {
	ID      string    `json:"id"`
	Channel string    `json:"channel"`
	User    string    `json:"user"` // an id of the channel
	Name    string    `json:"name,omitempty"`
	Session string    `json:"session"`
	Room    string    `json:"room,omitempty"`
	Text    string    `json:"text"`
	Cron    string    `json:"cron,omitempty"`
	Zone    string    `json:"zone"`
	When    string    `json:"when"`
	Next    time.Time `json:"next"`
	Last    time.Time `json:"last,omitzero"`
	Set     time.Time `json:"set"`
}

// listSchedules lists the reminders and recurring tasks of everybody.
//
//	?after=CURSOR → {"schedules": […], "next": "CURSOR"}
func (a *Admin) listSchedules(w http.ResponseWriter, r *http.Request) error {
	list, next, err := a.cfg.Gateway.Schedules(r.Context(), r.URL.Query().Get("after"), peoplePage)
	if err != nil {
		return err
	}
	out := make([]scheduleView, 0, len(list))
	for i := range list {
		it := &list[i]
		out = append(out, scheduleView{
			ID: it.ID, Channel: it.Channel, User: it.Sender.ID, Name: it.Sender.Name, Session: it.Target.Conversation, Room: it.Room,
			Text: it.Text, Cron: it.Cron, Zone: it.Zone, When: it.When(), Next: it.Next, Last: it.Last, Set: it.Set,
		})
	}
	send(w, http.StatusOK, map[string]any{"schedules": out, "next": next})
	return nil
}

// cancelSchedule cancels one, for an owner.
func (a *Admin) cancelSchedule(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := a.cfg.Gateway.CancelScheduleOf(r.Context(), a.operator(r), r.PathValue("channel"), r.PathValue("user"), id); err != nil {
		return err
	}
	send(w, http.StatusOK, map[string]string{"cancelled": id})
	return nil
}

// listMemory lists what is remembered about people.
//
//	?after=CURSOR → {"people": [{"user": "telegram/1", "facts": […]}], "next": "CURSOR"}
func (a *Admin) listMemory(w http.ResponseWriter, r *http.Request) error {
	people, next, err := a.cfg.Gateway.Memories(r.Context(), r.URL.Query().Get("after"), peoplePage)
	if err != nil {
		return err
	}
	if people == nil {
		people = []gateway.Remembered{}
	}
	send(w, http.StatusOK, map[string]any{"people": people, "next": next})
	return nil
}

// forgetFact forgets one fact, for an owner.
func (a *Admin) forgetFact(w http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := a.cfg.Gateway.ForgetFactOf(r.Context(), a.operator(r), r.PathValue("channel")+"/"+r.PathValue("user"), id); err != nil {
		return err
	}
	send(w, http.StatusOK, map[string]string{"forgotten": id})
	return nil
}
