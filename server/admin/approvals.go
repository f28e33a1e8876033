package admin

import "net/http"

// listApprovals lists the calls that wait for a person, in all conversations.
//
//	→ {"pending": […]}
func (a *Admin) listApprovals(w http.ResponseWriter, r *http.Request) error {
	list, err := a.cfg.Gateway.PendingCalls(r.Context())
	if err != nil {
		return err
	}
	send(w, http.StatusOK, map[string]any{"pending": list})
	return nil
}

// decide takes a decision. Who may is decided as in a chat.
//
//	{"session": "telegram:1", "id": "abc", "decision": "approve | deny | always"} → 202
func (a *Admin) decide(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Session  string `json:"session"`
		ID       string `json:"id"`
		Decision string `json:"decision"`
	}
	if err := readBody(w, r, &in); err != nil {
		return err
	}
	if in.Session == "" || in.ID == "" {
		return &problem{http.StatusBadRequest, "A decision names the session and the id of what it is about."}
	}
	if err := a.cfg.Gateway.Decide(r.Context(), a.operator(r), in.Session, in.ID, in.Decision); err != nil {
		return err
	}
	send(w, http.StatusAccepted, map[string]string{"id": in.ID, "decision": in.Decision})
	return nil
}
