package google

import (
	"strings"

	"clawbot/agentcore"
	"clawbot/providers"
)

// maxSaid bounds how much of the server's explanation is repeated, in bytes.
const maxSaid = 500

// finish ends the stream for the reason that the server gave. A reason that is
// no success is an error, whatever was said before: the calls of such an answer
// must not run, and its text is not one to go on from.
func (d *decoder) finish() {
	d.close()
	client := d.model.client
	switch strings.ToUpper(d.reason) {
	case "STOP":
		d.out.Done(agentcore.StopEnd, d.pending.total())
	case "FUNCTION_CALL", "TOOL_CALL", "TOOL_CALLS": // of imitations: the API itself says STOP
		d.out.Done(agentcore.StopToolUse, d.pending.total())
	case "MAX_TOKENS":
		d.out.Done(agentcore.StopLength, d.pending.total())
	case "SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "LANGUAGE", "MODEL_ARMOR",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		d.out.Fail(client.Declined("finishReason", d.reason, d.said))
	case "MALFORMED_FUNCTION_CALL", "MALFORMED_RESPONSE", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"OTHER", "NO_IMAGE", "IMAGE_OTHER":
		err := d.stopped()
		err.Retryable = true // the next answer may well be better
		d.out.Fail(err)
	default:
		d.out.Fail(d.stopped())
	}
}

func (d *decoder) stopped() *agentcore.Error {
	err := d.model.client.Stopped("finishReason", d.reason)
	if d.said != "" {
		err.Message += ": " + providers.Clean(d.said[:min(len(d.said), maxSaid)])
	}
	return err
}
