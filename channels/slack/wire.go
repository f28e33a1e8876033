package slack

import "encoding/json"

// The fields of Slack's events that matter here. slack-go's own types refuse an
// event with any value that they don't know; these leave out what they don't
// need.

// frame is a message on a socket.
type frame struct {
	Type       string          `json:"type"`
	Envelope   string          `json:"envelope_id"`
	Payload    json.RawMessage `json:"payload"`
	Retry      int             `json:"retry_attempt"`
	Reason     string          `json:"reason"`          // of a disconnect
	Sockets    int             `json:"num_connections"` // of a hello
	Connection struct {
		App string `json:"app_id"`
	} `json:"connection_info"`
}

// callback is what an events_api envelope or an event's request holds.
type callback struct {
	Type           string          `json:"type"`
	Challenge      string          `json:"challenge"` // of url_verification
	Team           string          `json:"team_id"`
	Enterprise     string          `json:"enterprise_id"`
	App            string          `json:"api_app_id"`
	EventID        string          `json:"event_id"`
	Event          json.RawMessage `json:"event"`
	Authorizations []struct {
		Team       string `json:"team_id"`
		Enterprise string `json:"enterprise_id"`
	} `json:"authorizations"`
}

// event is a message or a mention, and what a changed message holds of itself.
type event struct {
	Type        string `json:"type"`
	Subtype     string `json:"subtype"`
	Channel     string `json:"channel"`
	ChannelType string `json:"channel_type"`
	User        string `json:"user"`
	Username    string `json:"username"`
	Text        string `json:"text"`
	TS          string `json:"ts"`
	ThreadTS    string `json:"thread_ts"`
	EventTS     string `json:"event_ts"`
	ParentUser  string `json:"parent_user_id"`
	BotID       string `json:"bot_id"`
	BotProfile  struct {
		Name string `json:"name"`
	} `json:"bot_profile"`
	Team        string       `json:"team"`
	UserTeam    string       `json:"user_team"`
	SourceTeam  string       `json:"source_team"`
	Files       []file       `json:"files"`
	Attachments []attachment `json:"attachments"`
	Edited      *struct {
		TS string `json:"ts"`
	} `json:"edited"`
	Message   *event `json:"message"`
	Previous  *event `json:"previous_message"`
	DeletedTS string `json:"deleted_ts"`
	Tokens    struct {
		Bot []string `json:"bot"`
	} `json:"tokens"`
	Tab       string `json:"tab"` // of app_home_opened
	Assistant struct {
		Channel string `json:"channel_id"`
		Thread  string `json:"thread_ts"`
		Context struct {
			Channel string `json:"channel_id"`
		} `json:"context"`
	} `json:"assistant_thread"`
}

// attachment is a message that was shared, or a link's preview.
type attachment struct {
	IsShare   bool   `json:"is_share"`
	IsMessage bool   `json:"is_msg_unfurl"`
	Text      string `json:"text"`
	Fallback  string `json:"fallback"`
}

type file struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	MIME     string `json:"mimetype"`
	Subtype  string `json:"subtype"` // slack_audio, slack_video: clips
	Size     int64  `json:"size"`
	Mode     string `json:"mode"`
	External bool   `json:"is_external"`
}

// interaction is a click and its like.
type interaction struct {
	Type string `json:"type"`
	App  string `json:"api_app_id"`
	Team struct {
		ID         string `json:"id"`
		Enterprise string `json:"enterprise_id"`
	} `json:"team"`
	User struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Team string `json:"team_id"`
	} `json:"user"`
	Channel struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"channel"`
	Container struct {
		MessageTS string `json:"message_ts"`
		ThreadTS  string `json:"thread_ts"`
		Channel   string `json:"channel_id"`
	} `json:"container"`
	Message struct {
		TS       string `json:"ts"`
		ThreadTS string `json:"thread_ts"`
		Text     string `json:"text"`
	} `json:"message"`
	Callback string `json:"callback_id"` // of a shortcut
	View     struct {
		ID       string `json:"id"`
		Callback string `json:"callback_id"`
		Private  string `json:"private_metadata"`
		State    struct {
			Values map[string]map[string]struct {
				Value string `json:"value"`
			} `json:"values"`
		} `json:"state"`
	} `json:"view"`
	Trigger string `json:"trigger_id"`
	Actions []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
		TS    string `json:"action_ts"`
	} `json:"actions"`
}

// slash is a slash command, a form over HTTP.
type slash struct {
	Command     string `json:"command"`
	Text        string `json:"text"`
	Team        string `json:"team_id"`
	Enterprise  string `json:"enterprise_id"`
	App         string `json:"api_app_id"`
	Channel     string `json:"channel_id"`
	ChannelName string `json:"channel_name"`
	User        string `json:"user_id"`
	UserName    string `json:"user_name"`
	Trigger     string `json:"trigger_id"`
}
