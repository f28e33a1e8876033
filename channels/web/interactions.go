package web

import (
	"net/http"

	"clawbot/channels"
)

// postStop stops the run: the same as sending /stop.
//
//	{"id": "s1"} → 202 {"id": "s1", "event_id": "web:C:s1"}
func (c *Channel) postStop(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ID string `json:"id"`
	}
	if r.ContentLength != 0 {
		if err := readBody(w, r, &in); err != nil {
			return err
		}
	}
	return c.accept(w, r, channels.Message, in.ID, "", "/stop")
}

// postClick reports a pressed button.
//
//	{"id": "k1", "message": "the notice's id", "data": "the button's data"}
func (c *Channel) postClick(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		ID      string `json:"id"`
		Message string `json:"message"`
		Data    string `json:"data"`
	}
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	if in.Data == "" || len(in.Data) > 64 || len(in.Message) > 200 || hasControls(in.Data+in.Message) {
		return &problem{http.StatusBadRequest, "A click has the button's data, of at most 64 bytes, and the notice's id."}
	}
	return c.accept(w, r, channels.Click, in.ID, in.Message, in.Data)
}
