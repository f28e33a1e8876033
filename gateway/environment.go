package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"clawbot/agentcore"
	"clawbot/channels"
	"clawbot/store"
	"clawbot/tools"
)

// Toolbox gives the tools of a run. For is called when a run begins, and again
// when somebody with fewer rights joins it; it must be quick. The tools it
// returns find where they run with [tools.ScopeOf].
type Toolbox interface {
	For(ctx context.Context, req ToolRequest) []*agentcore.Tool
}

// Resolver is a [Toolbox] with tools that it does not declare. Resolve returns
// the one that a call names, nil if there is none for whom it is wanted.
type Resolver interface {
	Resolve(ctx context.Context, req ToolRequest, name string) *agentcore.Tool
}

// Hooks is a [Toolbox] that sees every call before it is approved and every
// result before it is recorded. Of one session it is asked one at a time; the
// call's scope is in ctx. An error of Before blocks the call.
type Hooks interface {
	Before(ctx context.Context, call agentcore.Call) (agentcore.BeforeResult, error)
	After(ctx context.Context, call agentcore.Call, result agentcore.Result) (agentcore.AfterResult, error)
}

// Changing is a [Toolbox] whose tools change while runs go on, as servers come
// and go. Generation returns another number after each change; a run looks at
// it before every turn and every call.
type Changing interface{ Generation() int64 }

// Teller is a [Toolbox] that can say in one line what a call is about: the
// argument worth showing to people. Empty is nothing worth showing.
type Teller interface {
	Tell(tool string, arguments json.RawMessage) string
}

// ToolRequest is for whom tools are wanted.
type ToolRequest struct {
	Session string
	// Agent is who works: a key of Config.Agents, or [MainAgent].
	Agent   string
	Channel string
	Target  channels.Target
	// Sender has the fewest rights of all whose messages are in the run, and
	// Role is theirs: [RoleOwner], a granted role, or [RoleGuest].
	Sender string
	Role   string
	// Roles are the platform's roles ("admin", a role's id) of everybody in the
	// run who is no owner, each set of them once: the run has the tools that all
	// of them may have.
	Roles [][]string
}

// environment is what the tools of one run work with. Tools are called by
// several goroutines at once.
type environment struct {
	r       *run
	request ToolRequest
	room    string // its name

	mu      sync.Mutex
	allowed map[string]*agentcore.Tool // as the toolbox gave them, by name
	list    []*agentcore.Tool          // wrapped
	stale   bool                       // the loop has another list
	// generation is the toolbox's when it was asked; gone says why a tool that
	// was there is not any more.
	generation int64
	gone       map[string]string
	scope      *tools.Scope
	root       *os.Root
	rootErr    error
	opened     bool
	// What is asked of people, see approve.go.
	asked     map[string]string // approval by call key
	left      map[string]bool   // calls whose approval was left to a successor, by call id
	explained map[string]bool
}

func (g *Gateway) newEnvironment(r *run, last *inbound) *environment {
	e := &environment{r: r, room: last.Room, gone: map[string]string{}, request: ToolRequest{Session: r.t.session, Agent: r.agent, Channel: last.Channel, Target: last.Target}}
	e.request.Role, e.request.Sender = r.who.lowest()
	e.request.Roles = r.who.roles()
	e.generation = g.generation()
	e.set("")
	e.stale = false
	return e
}

func (g *Gateway) generation() int64 {
	if box, ok := g.cfg.Toolbox.(Changing); ok {
		return box.Generation()
	}
	return 0
}

// set asks the toolbox for the tools of the present company. why is said of
// those that are not among them any more.
func (e *environment) set(why string) {
	before := e.allowed
	e.allowed, e.list, e.scope = map[string]*agentcore.Tool{}, nil, nil
	e.stale = true
	if box := e.r.t.g.cfg.Toolbox; box != nil {
		for _, t := range box.For(e.r.t.ctx, e.request) {
			e.add(t)
		}
	}
	for name := range before {
		if e.allowed[name] == nil {
			e.gone[name] = why
		}
	}
}

func (e *environment) add(t *agentcore.Tool) *agentcore.Tool {
	e.allowed[t.Name] = t
	wrapped := *t
	wrapped.Execute = e.execute(t.Name)
	e.list = append(e.list, &wrapped)
	return &wrapped
}

// resolve finds a tool that was not declared. It has the rights of the present
// company, and is taken away with them.
func (e *environment) resolve(ctx context.Context, name string) (*agentcore.Tool, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.update()
	if t := e.undeclared(ctx, name); t != nil {
		return e.add(t), nil
	}
	if why := e.gone[name]; why != "" {
		return nil, fmt.Errorf("%s may not be used any more: %s", name, why)
	}
	return nil, nil
}

// undeclared asks the toolbox for a tool that it did not give by itself.
func (e *environment) undeclared(ctx context.Context, name string) *agentcore.Tool {
	resolver, ok := e.r.t.g.cfg.Toolbox.(Resolver)
	if !ok {
		return nil
	}
	if t := resolver.Resolve(ctx, e.request, name); t != nil && t.Name == name {
		return t
	}
	return nil
}

// update brings the tools in line with who is in the run, and with what there
// is.
func (e *environment) update() {
	role, sender := e.r.who.lowest()
	roles := e.r.who.roles()
	if role != e.request.Role || sender != e.request.Sender || !slices.EqualFunc(roles, e.request.Roles, slices.Equal) {
		e.request.Role, e.request.Sender, e.request.Roles = role, sender, roles
		e.generation = e.r.t.g.generation()
		e.set("somebody without the right to it has joined the conversation")
		return
	}
	if now := e.r.t.g.generation(); now != e.generation {
		e.generation = now
		e.set("what it belongs to is gone or no longer offers it")
	}
}

// refresh reports whether the loop needs the list of tools anew.
func (e *environment) refresh() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.update()
	stale := e.stale
	e.stale = false
	return stale
}

func (e *environment) tools() []*agentcore.Tool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]*agentcore.Tool{}, e.list...)
}

// may reports whether the run has a tool.
func (e *environment) may(name string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, ok := e.allowed[name]
	return ok
}

func (e *environment) roleName() string {
	if e.request.Role == RoleGuest {
		return "guest"
	}
	return e.request.Role
}

// enter prepares one call: may it run still, and where?
func (e *environment) enter(name string) (*agentcore.Tool, *tools.Scope, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.update()
	t := e.allowed[name]
	if t == nil {
		// One that was not declared is kept only until the tools change.
		if t = e.undeclared(e.r.t.ctx, name); t != nil {
			e.add(t)
		}
	}
	if t == nil {
		return nil, nil, fmt.Errorf("%s may not be used any more: %s", name, cmp.Or(e.gone[name], "it is gone"))
	}
	if e.scope == nil {
		if !e.opened {
			e.opened = true
			e.root, e.rootErr = e.r.t.g.cfg.Workspace.open(e.r.t.session, e.request.Role, e.request.Target.Direct)
			if e.rootErr != nil {
				e.r.log.Error("the workspace can't be opened", "err", e.rootErr)
			}
		}
		e.scope = &tools.Scope{
			Session: e.r.t.session, Agent: e.r.cfg.Agent.Name,
			Sender: e.request.Sender, Role: e.request.Role, Workspace: e.root,
			Conversation: &conversation{host: e.r.host, to: e.request.Target, env: e},
			Memory:       &personal{e.r},
			History:      &personal{e.r},
		}
		if e.root != nil {
			e.scope.Dir = e.root.Name()
		}
	}
	return t, e.scope, nil
}

// execute wraps a tool: rights, approval, lease, intent, and then the tool.
func (e *environment) execute(name string) func(context.Context, agentcore.Call, func(agentcore.Update)) (agentcore.Result, error) {
	return func(ctx context.Context, call agentcore.Call, update func(agentcore.Update)) (result agentcore.Result, err error) {
		ctx, trail := e.trace(ctx, call)
		defer func() { trail.end(&result, err) }()
		ctx, refusal, err := e.admit(ctx, name, call)
		if err != nil || refusal != "" {
			return refused(refusal), err
		}
		result, err = e.perform(ctx, name, call, update)
		trail.returned()
		return result, err
	}
}

// admit checks the rights to a call and waits for whoever must approve it. The
// returned context has the scope and the approval.
func (e *environment) admit(ctx context.Context, name string, call agentcore.Call) (admitted context.Context, refusal string, err error) {
	_, scope, err := e.enter(name)
	if err != nil {
		return ctx, "", err
	}
	return e.approve(tools.WithScope(ctx, scope), callKey(e.r.batch, call.ID), call)
}

// perform runs a call that was admitted. An approval may have taken long:
// rights are looked at again, and the lease.
func (e *environment) perform(ctx context.Context, name string, call agentcore.Call, update func(agentcore.Update)) (agentcore.Result, error) {
	t, scope, err := e.enter(name)
	if err != nil {
		return agentcore.Result{}, err
	}
	e.r.t.checkTrust()
	if e.r.t.ctx.Err() != nil {
		return agentcore.Result{}, context.Cause(e.r.t.ctx)
	}
	if !t.Idempotent {
		before, err := e.r.t.lease.Intent(ctx, callKey(e.r.batch, call.ID))
		if errors.Is(err, store.ErrFenced) {
			e.r.t.lose(err)
		}
		if err != nil {
			return agentcore.Result{}, err
		}
		if before {
			return refused(interruptedText), nil
		}
	}
	if err := trailOf(ctx).begin(); err != nil {
		return agentcore.Result{}, err
	}
	return t.Execute(tools.WithScope(ctx, scope), call, update)
}

func refused(text string) agentcore.Result {
	r := agentcore.TextResult(text)
	r.IsError = true
	return r
}

// describe says in one line what a call does.
func (e *environment) describe(call *agentcore.ToolCall) string {
	e.mu.Lock()
	label := call.Name
	if t, ok := e.allowed[call.Name]; ok && t.Label != "" {
		label = t.Label
	}
	e.mu.Unlock()
	if teller, ok := e.r.t.g.cfg.Toolbox.(Teller); ok {
		if about := teller.Tell(call.Name, call.Arguments); about != "" {
			return label + ": " + clip(about, 120)
		}
	}
	return label
}

func (e *environment) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.root != nil {
		_ = e.root.Close() // opened for reading; nothing is lost
	}
}
