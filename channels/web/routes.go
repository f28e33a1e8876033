package web

import (
	"net/http"
	"strconv"

	"clawbot/channels"
)

// routes is the HTTP interface. Every answer below /api/ is JSON; an error is
// {"error":{"message":…}}.
func (c *Channel) routes() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern string, fn func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := fn(w, r); err != nil {
				c.fail(w, r, err)
			}
		})
	}
	handle("GET /api/info", c.getInfo)
	handle("GET /api/conversations", c.listConversations)
	handle("POST /api/conversations", c.createConversation)
	handle("GET /api/conversations/{id}/messages", c.readMessages)
	handle("GET /api/conversations/{id}/messages/{position}", c.readMessage)
	handle("POST /api/conversations/{id}/messages", c.postMessage)
	handle("POST /api/conversations/{id}/stop", c.postStop)
	handle("POST /api/conversations/{id}/click", c.postClick)
	handle("GET /api/conversations/{id}/events", c.streamEvents)

	handle("GET /{$}", c.servePage)
	handle("GET /c/{id}", c.servePage)
	handle("GET /assets/{file}", c.serveAsset)
	handle("/", func(http.ResponseWriter, *http.Request) error { return errMissing })
	return mux
}

func (c *Channel) getInfo(w http.ResponseWriter, _ *http.Request) error {
	var info Info
	if c.cfg.Info != nil {
		info = c.cfg.Info()
	}
	if info.Name == "" {
		info.Name = "clawbot"
	}
	type command struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	answer := struct {
		Info
		Commands []command `json:"commands"`
		MaxText  int       `json:"max_text"`
	}{Info: info, Commands: []command{}, MaxText: maxText}
	c.mu.Lock()
	commands := c.commands
	c.mu.Unlock()
	for _, cmd := range commands {
		answer.Commands = append(answer.Commands, command(cmd))
	}
	send(w, http.StatusOK, answer)
	return nil
}

// session returns the session that the request's path names.
func session(r *http.Request) (string, error) {
	s, ok := sessionOf(r.PathValue("id"))
	if !ok {
		return "", errID
	}
	return s, nil
}

// number reads a whole number from the query; missing is def.
func number(r *http.Request, name string, def int64) (int64, error) {
	v := r.URL.Query().Get(name)
	if v == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < 0 {
		return 0, &problem{http.StatusBadRequest, name + " is a whole number from 0 on."}
	}
	return n, nil
}

// target is where answers to a conversation of the page go.
func target(conversation string, sender channels.Sender) channels.Target {
	return channels.Target{Conversation: prefix + conversation, Chat: conversation, Direct: true, User: sender.ID}
}
