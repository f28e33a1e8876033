package channeltest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// GatewayFault is what happens to a gateway connection. It is planned with
// FailGateway and hits the next connection that gets as far as On.
type GatewayFault struct {
	// On is "connect", "identify" or "resume"; empty is whichever of the last
	// two comes.
	On string
	// Op7 asks to reconnect instead of the answer.
	Op7 bool
	// Op9 says that the session is invalid; with Resumable, that it may be
	// resumed all the same.
	Op9, Resumable bool
	// Close ends the connection with this code.
	Close int
	// Abrupt cuts the connection without a word, which is seen as 1006.
	Abrupt bool
	// Silent answers nothing at all, and keeps the connection open.
	Silent bool
	// DropAcks goes on, but acknowledges no heartbeat.
	DropAcks bool
}

// discordSession is one session of the gateway; it outlives its connection.
type discordSession struct {
	id      string
	intents int
	shard   [2]int
	seq     int64
	log     []discordEvent
	conn    *discordConn
	seen    int64 // what the last heartbeat confirmed
}

type discordEvent struct {
	seq  int64
	kind string
	data json.RawMessage
}

// discordConn is one connection. What it writes comes from control and from
// its session's log.
type discordConn struct {
	ws      *websocket.Conn
	session *discordSession
	sent    int // events of the session's log that were written
	control []any
	code    int // to close with
	noAcks  bool
	wake    chan struct{} // capacity 1
	done    chan struct{}
	once    sync.Once
}

func (c *discordConn) poke() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// cut ends a connection without a word.
func (c *discordConn) cut() {
	c.once.Do(func() {
		close(c.done)
		_ = c.ws.NetConn().Close()
	})
}

func (s *discordSession) drop() {
	if s.conn != nil {
		s.conn.cut()
	}
}

// FailGateway plans a fault for a gateway connection; several are used up one
// by one.
func (d *Discord) FailGateway(f GatewayFault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.trouble = append(d.trouble, f)
}

// takeFault finds the planned fault for a stage. d.mu is held.
func (d *Discord) takeFault(stage string) *GatewayFault {
	for i, f := range d.trouble {
		if f.On == stage || f.On == "" && stage != "connect" {
			d.trouble = append(d.trouble[:i:i], d.trouble[i+1:]...)
			return &f
		}
	}
	return nil
}

var discordUpgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

func (d *Discord) serveGateway(w http.ResponseWriter, r *http.Request) {
	if q := r.URL.Query(); q.Get("encoding") != "json" || q.Get("v") != "9" && q.Get("v") != "10" {
		http.Error(w, "v and encoding are required", http.StatusBadRequest)
		return
	}
	ws, err := discordUpgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	c := &discordConn{ws: ws, wake: make(chan struct{}, 1), done: make(chan struct{})}
	defer c.cut()
	d.mu.Lock()
	d.opened++
	fault := d.takeFault("connect")
	if fault == nil {
		c.control = append(c.control, frame(10, map[string]any{"heartbeat_interval": d.cfg.Heartbeat.Milliseconds()}))
	} else {
		d.strike(c, fault)
	}
	d.changed.wake()
	d.mu.Unlock()
	stop := make(chan struct{})
	defer close(stop)
	d.running.Go(func() {
		select {
		case <-d.ctx.Done():
			c.cut()
		case <-stop:
		}
	})
	d.running.Go(func() { d.write(c) })
	c.poke()
	d.read(c)
}

func frame(op int, data any) map[string]any { return map[string]any{"op": op, "d": data} }

// write sends what there is until the connection ends.
func (d *Discord) write(c *discordConn) {
	for {
		d.mu.Lock()
		frames, code := c.control, c.code
		c.control = nil
		if s := c.session; s != nil && s.conn == c {
			for _, e := range s.log[c.sent:] {
				frames = append(frames, map[string]any{"op": 0, "s": e.seq, "t": e.kind, "d": e.data})
			}
			c.sent = len(s.log)
		}
		d.mu.Unlock()
		for _, f := range frames {
			if c.ws.WriteJSON(f) != nil {
				c.cut()
				return
			}
		}
		if code != 0 {
			_ = c.ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(code, closeReason(code)), time.Now().Add(time.Second))
			return // the other side closes; reading ends then
		}
		select {
		case <-c.wake:
		case <-c.done:
			return
		}
	}
}

func closeReason(code int) string {
	return map[int]string{4004: "Authentication failed.", 4014: "Disallowed intent(s).", 4013: "Invalid intent(s)."}[code]
}

func (d *Discord) read(c *discordConn) {
	for {
		_, data, err := c.ws.ReadMessage()
		if err != nil {
			d.ended(c, err)
			return
		}
		var f struct {
			Op int             `json:"op"`
			D  json.RawMessage `json:"d"`
		}
		if json.Unmarshal(data, &f) != nil {
			d.end(c, 4002)
			continue
		}
		d.mu.Lock()
		switch f.Op {
		case 1:
			d.heartbeat(c, f.D)
		case 2:
			d.identify(c, f.D)
		case 6:
			d.resume(c, f.D)
		default:
			c.code = 4001
		}
		d.changed.wake()
		d.mu.Unlock()
		c.poke()
	}
}

// end asks the writer to close with a code.
func (d *Discord) end(c *discordConn, code int) {
	d.mu.Lock()
	c.code = code
	d.mu.Unlock()
	c.poke()
}

// ended settles what becomes of the session: a client that closes with 1000 or
// 1001 gives it up.
func (d *Discord) ended(c *discordConn, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := c.session
	if s == nil || s.conn != c {
		return
	}
	s.conn = nil
	if websocket.IsCloseError(err, websocket.CloseNormalClosure, websocket.CloseGoingAway) {
		delete(d.sessions, s.id)
	}
	d.changed.wake()
}

func (d *Discord) heartbeat(c *discordConn, data json.RawMessage) {
	if seq, err := strconv.ParseInt(string(data), 10, 64); err == nil && c.session != nil {
		c.session.seen = max(c.session.seen, seq)
	}
	if !c.noAcks {
		c.control = append(c.control, frame(11, nil))
	}
}

func (d *Discord) identify(c *discordConn, data json.RawMessage) {
	var in struct {
		Token      string         `json:"token"`
		Intents    *int           `json:"intents"`
		Shard      *[2]int        `json:"shard"`
		Properties map[string]any `json:"properties"`
	}
	d.identified++
	switch err := json.Unmarshal(data, &in); {
	case err != nil || in.Intents == nil || in.Properties == nil:
		c.code = 4002
		return
	case strings.TrimPrefix(in.Token, "Bot ") != d.token || d.revoked.Load():
		c.code = 4004
		return
	case *in.Intents&intentMessageContent != 0 && d.cfg.NoMessageContent:
		c.code = 4014
		return
	case c.session != nil:
		c.code = 4005
		return
	}
	if f := d.takeFault("identify"); f != nil && !d.strike(c, f) {
		return
	}
	s := &discordSession{id: "session-" + d.newID(), intents: *in.Intents, shard: [2]int{0, 1}, conn: c}
	if in.Shard != nil {
		s.shard = *in.Shard
	}
	c.session = s
	d.sessions[s.id] = s
	guilds := []any{}
	for id := range d.guilds {
		if s.gets(id) {
			guilds = append(guilds, map[string]any{"id": id, "unavailable": true})
		}
	}
	s.push("READY", map[string]any{
		"v": 9, "user": d.wireUser(d.cfg.BotID), "session_id": s.id, "guilds": guilds, "shard": s.shard,
		"resume_gateway_url": "ws://" + d.listener.Addr().String() + "/ws/resume",
		"application":        map[string]any{"id": d.cfg.BotID, "flags": flagMessageContent}, "private_channels": []any{},
	})
	for id, g := range d.guilds {
		if s.gets(id) {
			s.push("GUILD_CREATE", d.wireGuild(g))
		}
	}
}

func (d *Discord) resume(c *discordConn, data json.RawMessage) {
	var in struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     int64  `json:"seq"`
	}
	if json.Unmarshal(data, &in) != nil || strings.TrimPrefix(in.Token, "Bot ") != d.token || d.revoked.Load() {
		c.code = 4004
		return
	}
	if f := d.takeFault("resume"); f != nil && !d.strike(c, f) {
		if f.Op9 && !f.Resumable {
			delete(d.sessions, in.Session)
		}
		return
	}
	s := d.sessions[in.Session]
	switch {
	case s == nil:
		c.control = append(c.control, frame(9, false))
		return
	case in.Seq > s.seq || in.Seq < 0:
		c.code = 4007
		return
	}
	if old := s.conn; old != nil {
		old.cut()
	}
	d.resumed++
	c.session, s.conn = s, c
	for c.sent < len(s.log) && s.log[c.sent].seq <= in.Seq {
		c.sent++
	}
	s.push("RESUMED", map[string]any{})
}

// strike does what a fault says; it reports whether the connection goes on as
// if nothing were. d.mu is held.
func (d *Discord) strike(c *discordConn, f *GatewayFault) bool {
	switch {
	case f.Op7:
		c.control = append(c.control, frame(7, nil))
	case f.Op9:
		c.control = append(c.control, frame(9, f.Resumable))
	case f.Close != 0:
		c.code = f.Close
	case f.Abrupt:
		c.cut()
	case f.Silent:
	case f.DropAcks:
		c.noAcks = true
		return true
	default:
		panic(fmt.Sprintf("channeltest: the gateway fault %+v does nothing", *f))
	}
	return false
}

// gets tells whether events of a server, or private ones, go to the session.
func (s *discordSession) gets(guild string) bool {
	if guild == "" {
		return s.shard[0] == 0
	}
	id, _ := strconv.ParseUint(guild, 10, 64)
	return int((id>>22)%uint64(max(s.shard[1], 1))) == s.shard[0]
}

// push appends an event to a session. d.mu is held.
func (s *discordSession) push(kind string, data any) {
	raw, err := json.Marshal(data)
	if err != nil {
		panic("channeltest: encode an event: " + err.Error())
	}
	s.seq++
	s.log = append(s.log, discordEvent{s.seq, kind, raw})
	if s.conn != nil {
		s.conn.poke()
	}
}

// dispatch sends an event to the sessions that it is for. d.mu is held.
func (d *Discord) dispatch(kind string, data map[string]any, guild string, intent int) {
	for _, s := range d.sessions {
		if s.intents&intent == 0 && intent != 0 || !s.gets(guild) {
			continue
		}
		s.push(kind, s.strip(kind, data, guild, d.cfg.BotID))
	}
}

// strip takes the content from messages that the session may not read.
func (s *discordSession) strip(kind string, data map[string]any, guild, bot string) map[string]any {
	if !strings.HasPrefix(kind, "MESSAGE_") || data["content"] == nil || guild == "" || s.intents&intentMessageContent != 0 {
		return data
	}
	if users, ok := data["mentions"].([]any); ok {
		for _, u := range users {
			if u, ok := u.(map[string]any); ok && u["id"] == bot {
				return data
			}
		}
	}
	out := map[string]any{}
	maps.Copy(out, data)
	out["content"], out["attachments"], out["components"] = "", []any{}, []any{}
	return out
}
