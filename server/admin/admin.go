package admin

import (
	"embed"
	"errors"
	"log/slog"
	"net/http"
	"os"

	"clawbot/channels"
	"clawbot/gateway"
	"clawbot/internal/assets"
	"clawbot/internal/peer"
)

//go:embed page
var pageFiles embed.FS

var files = assets.New(pageFiles, "page")

// Admin is the page. Make it with [New].
type Admin struct {
	cfg     Config
	log     *slog.Logger
	mux     *http.ServeMux
	host    string
	facts   facts
	totals  totals
	costs   costs
	company company
	streams chan struct{} // a place for each open event stream
}

// maxStreams bounds the event streams that are open at once.
const maxStreams = 64

var _ channels.Handler = (*Admin)(nil)

// New makes the page. Nothing is started.
func New(cfg Config) (*Admin, error) {
	if cfg.Store == nil || cfg.Gateway == nil {
		return nil, errors.New("admin: Config needs a Store and a Gateway")
	}
	if cfg.Channel == "" {
		cfg.Channel = "web"
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	a := &Admin{cfg: cfg, log: cfg.Logger, host: host, streams: make(chan struct{}, maxStreams)}
	a.mux = a.routes()
	return a, nil
}

// Handler serves everything below "/admin/".
func (a *Admin) Handler() (string, http.Handler) { return "/admin/", a.mux }

// routes is the HTTP interface. Every answer below /admin/api/ is JSON; an error
// is {"error":{"message":…}}.
func (a *Admin) routes() *http.ServeMux {
	mux := http.NewServeMux()
	handle := func(pattern string, fn func(http.ResponseWriter, *http.Request) error) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if err := fn(w, r); err != nil {
				a.fail(w, r, err)
			}
		})
	}
	handle("GET /admin/api/state", a.getState)
	handle("GET /admin/api/sessions", a.listSessions)
	handle("GET /admin/api/sessions/{session}", a.readSession)
	handle("GET /admin/api/sessions/{session}/totals", a.readTotals)
	handle("GET /admin/api/sessions/{session}/find", a.findInSession)
	handle("GET /admin/api/sessions/{session}/entries/{position}", a.readEntry)
	handle("GET /admin/api/sessions/{session}/events", a.followSession)
	handle("GET /admin/api/sessions/{session}/export", a.exportSession)
	handle("POST /admin/api/sessions/{session}/stop", a.stopSession)
	handle("DELETE /admin/api/sessions/{session}", a.deleteSession)
	handle("GET /admin/api/approvals", a.listApprovals)
	handle("POST /admin/api/approvals", a.decide)
	handle("GET /admin/api/schedules", a.listSchedules)
	handle("DELETE /admin/api/schedules/{channel}/{user}/{id}", a.cancelSchedule)
	handle("GET /admin/api/memory", a.listMemory)
	handle("DELETE /admin/api/memory/{channel}/{user}/{id}", a.forgetFact)
	handle("GET /admin/api/tools", a.listTools)
	handle("GET /admin/api/spend", a.readSpend)
	handle("GET /admin/api/config", a.listSettings)
	handle("GET /admin/api/log", a.readLog)
	handle("GET /admin/api/log/events", a.followLog)
	handle("/admin/api/", func(http.ResponseWriter, *http.Request) error { return errMissing })

	handle("GET /admin/assets/{file}", func(w http.ResponseWriter, r *http.Request) error {
		return serve(w, r, r.PathValue("file"))
	})
	// Every other address is a view, which the document shows.
	handle("/admin/", func(w http.ResponseWriter, r *http.Request) error {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			return errMissing
		}
		return serve(w, r, "admin.html")
	})
	return mux
}

func serve(w http.ResponseWriter, r *http.Request, name string) error {
	if !files.Serve(w, r, name) {
		return errMissing
	}
	return nil
}

// operator is who asks, as the channel of the page knows them.
func (a *Admin) operator(r *http.Request) gateway.Operator {
	who := "remote"
	if peer.Local(r) {
		who = "local"
	}
	return gateway.Operator{Channel: a.cfg.Channel, Sender: channels.Sender{ID: a.cfg.Channel + ":" + who, Name: who}}
}
