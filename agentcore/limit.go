package agentcore

import "fmt"

// closingTokens caps the closing account of a run that reached a limit.
const closingTokens = 1024

// exhausted reports whether no further model call may use tools.
func (r *run) exhausted() bool {
	limit := r.l.cfg.MaxIterations
	return limit > 0 && r.l.iterations >= limit
}

func (r *run) iterationLimit() *Error {
	return &Error{Class: ErrLimit, Message: fmt.Sprintf("Reached the limit of %d model calls (loop.max_iterations)", r.l.cfg.MaxIterations)}
}

// limit ends the run with err, after an account of what was done unless the
// configuration wants none. The account never replaces err.
func (r *run) limit(err *Error) *Error {
	if r.ctx.Err() != nil {
		return r.abort()
	}
	if r.l.cfg.NoLimitSummary {
		if len(r.pending) > 0 {
			return r.endWith(StopError, err)
		}
		return err
	}
	if !r.openTurn() || !r.injectPending() {
		return err
	}
	req, failed := r.request(fmt.Sprintf("%s. You can call no more tools. In a few sentences, say what was done, what was found, and what is left to do.", err.Message))
	if failed != nil {
		_ = r.fail(failed) // the limit is what ended the run
		return err
	}
	req.Tools = nil
	if req.MaxTokens == 0 || req.MaxTokens > closingTokens {
		req.MaxTokens = closingTokens
	}
	m := r.stream(req)
	if m == nil {
		return err
	}
	if m.Stop == StopToolUse {
		m.Stop, m.Content = StopEnd, withoutCalls(m.Content)
		if !hasText(m.Content) {
			m.Stop, m.Error = StopError, &Error{Class: ErrEmpty, Message: "the model gave no account of what was done"}
		}
	}
	if r.publish(m) {
		r.closeTurn(m, nil)
	}
	if m.Stop == StopAborted {
		return m.Error
	}
	return err
}
