package channeltest

import "encoding/json"

// openDirect answers conversations.open for one person.
func (s *Slack) openDirect(req *slackCall) (slackObject, string) {
	user := req.form.Get("users")
	if user == "" || user[0] != 'U' {
		return nil, "user_not_found"
	}
	return slackObject{"channel": slackObject{"id": s.channel(s.Direct(user), true).id}}, ""
}

// createDM answers for the private channel with a person.
func (d *Discord) createDM(req *discordRequest) (any, *discordError) {
	var body struct {
		Recipient string `json:"recipient_id"`
	}
	if err := json.Unmarshal(req.body, &body); err != nil || body.Recipient == "" {
		return nil, dcInvalid("recipient_id", "BASE_TYPE_REQUIRED", "This field is required")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return map[string]any{"id": d.dm(body.Recipient), "type": DiscordDM}, nil
}
