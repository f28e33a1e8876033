package gateway

import (
	"strings"
	"testing"
	"time"

	"clawbot/channels"
	"clawbot/gateway/schedule"
)

// TestTheBotKeepsItsSchedulesOverChangesOfClocksAndALeapDay has the bot run on
// the days on which something is the matter with clocks or the calendar, and
// compares when it did what with the clocks on the wall.
func TestTheBotKeepsItsSchedulesOverChangesOfClocksAndALeapDay(t *testing.T) {
	for _, c := range []struct {
		from string // runs for three days
		spec string
		want string
	}{
		{"2000-02-28T00:00", "0 9 * * *", "28 09:00, 29 09:00, 1 09:00"},
		{"2000-02-28T00:00", "0 9 29 2 *", "29 09:00"},
		{"2001-02-28T00:00", "0 9 29 2 *", ""},
		{"2000-03-25T00:00", "30 2 * * *", "25 02:30, 26 03:00, 27 02:30"}, // put forward at 02:00 on the 26th
		{"2000-03-25T12:00", "30 */3 * * *", "25 12:30, 25 15:30, 25 18:30, 25 21:30, 26 00:30, 26 03:30, 26 06:30, 26 09:30, 26 12:30, 26 15:30, " +
			"26 18:30, 26 21:30, 27 00:30, 27 03:30, 27 06:30, 27 09:30, 27 12:30, 27 15:30, 27 18:30, 27 21:30, 28 00:30, 28 03:30, 28 06:30, 28 09:30, 28 12:30"},
		{"2000-10-28T00:00", "30 2 * * *", "28 02:30, 29 02:30, 30 02:30"}, // put back at 03:00 on the 29th
		{"2000-10-28T23:00", "0 * * 10 sun", "29 00:00, 29 01:00, 29 02:00, 29 02:00, 29 03:00"},
	} {
		bubble(t, func(t *testing.T) {
			berlin, err := schedule.Zone("Europe/Berlin")
			if err != nil {
				t.Fatal(err)
			}
			from, err := time.ParseInLocation("2006-01-02T15:04", c.from, berlin)
			if err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Until(from.Add(-30 * time.Second))) // the bot does not run yet
			ch, s := newChat("chat"), newStore(t)
			b := start(t, Config{Store: s, Channels: []channels.Channel{ch}, Model: &script{otherwise: planner}, Toolbox: toolset{scheduleTool()}, Agent: Agent{Zone: berlin}})
			ch.send(t, direct(sess, "1", `call {"action":"set","text":"water","cron":"`+c.spec+`"}`))
			settled(t, b)
			var got []string
			for seen := 0; time.Since(from) < 72*time.Hour && !(strings.HasPrefix(c.spec, "0 * ") && len(got) == 5); {
				time.Sleep(time.Minute)
				if n := posted(ch, "\nwater\n"); n > seen {
					seen = n
					got = append(got, time.Now().In(berlin).Format("2 15:04"))
				}
			}
			if s := strings.Join(got, ", "); s != c.want {
				t.Errorf("%s from %s:\n got %s\nwant %s", c.spec, c.from, s, c.want)
			}
		})
	}
}
