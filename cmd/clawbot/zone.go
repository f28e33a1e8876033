package main

import (
	"time"

	"clawbot/config"
	"clawbot/gateway/schedule"
)

// timeZone is where the agent's clock stands: as configured, which the
// configuration has checked, or where the machine is.
func timeZone(cfg *config.Config) *time.Location {
	if zone, err := schedule.Zone(cfg.Agent.TimeZone); cfg.Agent.TimeZone != "" && err == nil {
		return zone
	}
	return schedule.HostZone()
}
