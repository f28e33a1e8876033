package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"clawbot/channels"
	"clawbot/store"
	"clawbot/tools"
)

const (
	// approvalTime is how long an approval may be given.
	approvalTime = 30 * time.Minute
	// maxAsked is how many approvals of one person who is no owner may wait.
	maxAsked = 3
	// maxShown bounds what is shown of a call, in bytes: a person must see all
	// of it.
	maxShown = 2500
)

// approval is a call that waits for a person, as it is kept in the store. It is
// bound to its call and to what the call would do; whoever holds the session
// waits for the same one.
type approval struct {
	V       int    `json:"v"`
	ID      string `json:"id"`
	Session string `json:"session"`
	Call    string `json:"call"` // key of the call in the transcript
	// For is the id of the message that led to it.
	For     string `json:"for,omitempty"`
	Tool    string `json:"tool"`
	Label   string `json:"label"`
	Show    string `json:"show"`
	Where   string `json:"where,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Binding string `json:"binding"`
	Rule    string `json:"rule,omitempty"`

	Channel string          `json:"channel"`
	Target  channels.Target `json:"target"`
	// Sender is for whom the call would run; By are all whose messages led to
	// it. Both are ids of the channel.
	Sender string   `json:"sender"`
	Owner  bool     `json:"owner,omitempty"` // Sender is one
	By     []string `json:"by,omitempty"`
	// Message is the platform's id of the message that asks. Letters ask those
	// who may decide, in their own conversations; Asker says whose request it
	// is, and where, for them.
	Message string    `json:"message,omitempty"`
	Letters []letter  `json:"letters,omitempty"`
	Asker   string    `json:"asker,omitempty"`
	Created time.Time `json:"created"`
	Expires time.Time `json:"expires"`

	// Decision is empty while it waits.
	Decision decision `json:"decision,omitempty"`
	Decider  string   `json:"decider,omitempty"` // a name, for people

	version   int64 // in the store
	deciderID string
}

// decision is what became of an approval.
type decision string

const (
	decisionApprove decision = "approve"
	decisionDeny    decision = "deny"
	decisionAlways  decision = "always"
	// The program's own.
	decisionExpired   decision = "expired"
	decisionWithdrawn decision = "withdrawn"
)

func (d decision) granted() bool { return d == decisionApprove || d == decisionAlways }

const approvals = "approval/"

func approvalKey(session, id string) string { return approvals + session + "/" + id }

func ruleKey(session, rule string) string { return "rule/" + session + "/" + rule }

// approvalID is the same for the same call in every process.
func approvalID(session, call string) string {
	sum := sha256.Sum256([]byte(session + "\x00" + call))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:5]))
}

// getApproval returns the approval, nil if there is none.
func (g *Gateway) getApproval(ctx context.Context, session, id string) (*approval, error) {
	v, err := g.cfg.Store.State().Get(ctx, approvalKey(session, id))
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeApproval(v)
}

func decodeApproval(v store.Value) (*approval, error) {
	a := approval{version: v.Version}
	if err := json.Unmarshal(v.Data, &a); err != nil {
		return nil, fmt.Errorf("decode an approval: %w", err)
	}
	if a.V > recordVersion {
		return nil, newerError(a.V)
	}
	return &a, nil
}

// findApproval looks for an id in all conversations, the given one first.
func (g *Gateway) findApproval(ctx context.Context, session, id string) (*approval, error) {
	if a, err := g.getApproval(ctx, session, id); a != nil || err != nil {
		return a, err
	}
	list, err := g.cfg.Store.State().List(ctx, approvals)
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		if strings.HasSuffix(v.Key, "/"+id) {
			return decodeApproval(v)
		}
	}
	return nil, nil
}

func (g *Gateway) putApproval(ctx context.Context, a *approval) error {
	data, err := encode(a)
	if err != nil {
		return err
	}
	version, err := g.cfg.Store.State().Put(ctx, approvalKey(a.Session, a.ID), data, a.version)
	if err != nil {
		return fmt.Errorf("keep the approval: %w", err)
	}
	a.version = version
	return nil
}

// waitingFor counts the approvals of one person that wait, and forgets those
// that nobody waits for any more.
func (g *Gateway) waitingFor(ctx context.Context, channel, sender string) (int, error) {
	list, err := g.cfg.Store.State().List(ctx, approvals)
	if err != nil {
		return 0, err
	}
	n := 0
	for _, v := range list {
		a, err := decodeApproval(v)
		if err != nil {
			continue // a newer replica's
		}
		if time.Since(a.Expires) > approvalTime {
			if err := g.cfg.Store.State().Delete(ctx, v.Key); err != nil {
				return 0, err
			}
			continue
		}
		if a.Decision == "" && a.Channel == channel && a.Sender == sender && time.Now().Before(a.Expires) {
			n++
		}
	}
	return n, nil
}

// ruled reports whether a person has allowed exactly this for good in the
// conversation.
func (g *Gateway) ruled(ctx context.Context, session, rule string) (bool, error) {
	if rule == "" {
		return false, nil
	}
	_, err := g.cfg.Store.State().Get(ctx, ruleKey(session, rule))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// rule is what was allowed for good, for people who list it.
type rule struct {
	V       int       `json:"v"`
	Tool    string    `json:"tool"`
	Show    string    `json:"show"`
	Where   string    `json:"where,omitempty"`
	Decider string    `json:"decider"`
	At      time.Time `json:"at"`
}

func (g *Gateway) putRule(ctx context.Context, a *approval) error {
	data, err := encode(rule{V: recordVersion, Tool: a.Tool, Show: a.Show, Where: a.Where, Decider: a.Decider, At: time.Now()})
	if err != nil {
		return err
	}
	_, err = g.cfg.Store.State().Put(ctx, ruleKey(a.Session, a.Rule), data, 0)
	if errors.Is(err, store.ErrConflict) {
		return nil // allowed already
	}
	return err
}

// mayDecide says why the sender may not decide; empty if they may.
func (g *Gateway) mayDecide(a *approval, d decision, channel, sender, role string) string {
	approver := role == RoleOwner || lists(g.config().Access.Approvers, channel, sender)
	switch {
	case !approver:
		return "Only an owner or an approver of this bot can decide that (`owners` and `approvers` of `[access]`)."
	case role == RoleOwner:
	case channel == a.Channel && (sender == a.Sender || slices.Contains(a.By, sender)):
		return "You asked for this yourself, so somebody else must decide."
	case d == decisionAlways:
		return "Only an owner can allow something for good. `/approve " + a.ID + "` allows it once."
	}
	if d == decisionAlways && a.Rule == "" {
		return "This can't be allowed for good, since it could do something else the next time. `/approve " + a.ID + "` allows it once."
	}
	return ""
}

// text is the message that asks, or says what became of it.
func (a *approval) text() string {
	var b strings.Builder
	if a.Decision != "" {
		first, _, more := strings.Cut(a.Show, "\n")
		if more {
			first += " …"
		}
		fmt.Fprintf(&b, "%s **%s:** %s", a.Decision.sign(), a.outcome(), codeSpan(clip(first, 200)))
		return b.String()
	}
	fmt.Fprintf(&b, "🔐 **%s** needs an approval", a.Label)
	if a.Reason != "" {
		fmt.Fprintf(&b, ": %s", escapeMarkdown(a.Reason))
	}
	fmt.Fprintf(&b, ".\n\n%s\n", codeBlock(a.Show))
	if a.Where != "" {
		fmt.Fprintf(&b, "In %s. ", codeSpan(a.Where))
	}
	fmt.Fprintf(&b, "`/approve %s` or `/deny %s`, until %s.", a.ID, a.ID, a.Expires.Format("15:04"))
	return b.String()
}

// letter is the message to somebody who is not there.
func (a *approval) letter() channels.Outgoing {
	text := a.text()
	if a.Decision == "" {
		text = a.Asker + ":\n\n" + text
	}
	return channels.Outgoing{Markdown: text, Buttons: a.buttons()}
}

func (d decision) sign() string {
	switch d {
	case decisionApprove, decisionAlways:
		return "✅"
	case decisionDeny:
		return "⛔"
	default:
		return "⌛"
	}
}

func (a *approval) outcome() string {
	who := escapeMarkdown(a.Decider)
	switch a.Decision {
	case decisionApprove:
		return "Approved by " + who
	case decisionAlways:
		return "Approved for good by " + who
	case decisionDeny:
		return "Denied by " + who
	case decisionExpired:
		return "Nobody approved it in time"
	default:
		return "Withdrawn"
	}
}

// refusal is what the model reads.
func (a *approval) refusal() string {
	switch a.Decision {
	case decisionDeny:
		return fmt.Sprintf("Not run: %s denied it. Do not try another way to the same end; ask what to do instead.", a.Decider)
	case decisionExpired:
		return fmt.Sprintf("Not run: nobody approved it within %d minutes. Say what you wanted to do and go on without it.", int(approvalTime.Minutes()))
	default:
		return "Not run: the approval was withdrawn."
	}
}

// buttons are for channels that have them. Their data names the approval only:
// what is allowed is in the store.
func (a *approval) buttons() [][]channels.Button {
	if a.Decision != "" {
		return nil
	}
	rows := [][]channels.Button{{
		{Label: "Approve", Data: "approve:" + a.ID, Style: "primary"},
		{Label: "Deny", Data: "deny:" + a.ID, Style: "danger"},
	}}
	if a.Rule != "" && a.Owner {
		rows = append(rows, []channels.Button{{Label: "Always allow this", Data: "always:" + a.ID}})
	}
	return rows
}

// live is the approval for channels that draw it themselves.
func (a *approval) live() channels.LiveEvent {
	state := string(a.Decision)
	if state == "" {
		state = "pending"
	}
	return channels.LiveEvent{Type: "approval", Text: a.text(), Approval: &channels.LiveApproval{
		ID: a.ID, Tool: a.Tool, Label: a.Label, Show: a.Show, Where: a.Where, Reason: a.Reason,
		Always: a.Rule != "", Expires: a.Expires, State: state, Decider: a.Decider,
	}}
}

// newApproval is an approval of one call.
func (e *environment) newApproval(key string, d *tools.Decision, label, tool string) *approval {
	now := time.Now()
	return &approval{
		V: recordVersion, ID: approvalID(e.r.t.session, key), Session: e.r.t.session, Call: key, For: e.r.t.tr.last.ID,
		Tool: tool, Label: label, Show: d.Show, Where: d.Where, Reason: d.Reason, Binding: d.Binding, Rule: d.Rule,
		Channel: e.request.Channel, Target: e.request.Target, Sender: e.request.Sender, Owner: e.request.Role == RoleOwner,
		By: e.r.who.ids(), Asker: e.asker(), Created: now, Expires: now.Add(approvalTime),
	}
}

// asker says, to people who are elsewhere, for whom the run is and where.
func (e *environment) asker() string {
	who := codeSpan(e.request.Channel + ":" + e.request.Sender)
	last := e.r.t.tr.last
	if last.Sender.ID == e.request.Sender && last.Sender.Name != "" {
		who = escapeMarkdown(last.Sender.Name) + " (" + who + ")"
	}
	switch {
	case e.request.Target.Direct:
		return who + ", in a conversation with me alone"
	case last.Room != "":
		return who + ", in " + escapeMarkdown(last.Room)
	}
	return who + ", in " + codeSpan(e.r.t.session)
}
