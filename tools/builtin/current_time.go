package builtin

import (
	"context"
	_ "embed"
	"fmt"
	"time"
	_ "time/tzdata" // zones on machines that have no zone files

	"clawbot/agentcore"
	"clawbot/tools"
)

//go:embed current_time.md
var currentTimeProse string

func currentTime(zone *time.Location) tools.Tool {
	if zone == nil {
		zone = time.Local
	}
	return tools.Tool{
		Descriptor: describe("current_time", "Current time", currentTimeProse, `{
			"type": "object",
			"properties": {"zone": {"type": "string", "description": "IANA time zone, for example America/Lima"}}
		}`),
		Idempotent: true,
		Telling:    telling("zone"),
		Execute: func(_ context.Context, call agentcore.Call, _ func(agentcore.Update)) (agentcore.Result, error) {
			return tellTime(call, time.Now().In(zone))
		},
	}
}

func tellTime(call agentcore.Call, now time.Time) (agentcore.Result, error) {
	args, err := arguments[struct{ Zone string }](call)
	if err != nil {
		return agentcore.Result{}, err
	}
	if args.Zone != "" {
		zone, err := time.LoadLocation(args.Zone)
		if err != nil {
			return agentcore.Result{}, fmt.Errorf("unknown time zone %q: use an IANA name such as America/Lima", args.Zone)
		}
		now = now.In(zone)
	}
	return agentcore.TextResult(now.Format("Monday, 2 January 2006, 15:04:05 -07:00 ") + "(" + now.Location().String() + ")"), nil
}
