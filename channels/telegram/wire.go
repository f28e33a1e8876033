package telegram

import "encoding/json"

// The fields of an update that matter here, see
// https://core.telegram.org/bots/api#update. The typed client's own types refuse
// an update with any value that they don't know; these leave out what they
// don't need.
type update struct {
	ID       int64     `json:"update_id"`
	Message  *message  `json:"message"`
	Edited   *message  `json:"edited_message"`
	Callback *callback `json:"callback_query"`
	MyMember *member   `json:"my_chat_member"`
}

type message struct {
	ID              int             `json:"message_id"`
	ThreadID        int             `json:"message_thread_id"`
	IsTopicMessage  bool            `json:"is_topic_message"`
	From            *user           `json:"from"`
	SenderChat      *chat           `json:"sender_chat"`
	AutoForward     bool            `json:"is_automatic_forward"`
	MediaGroup      string          `json:"media_group_id"`
	Date            int64           `json:"date"`
	EditDate        int64           `json:"edit_date"`
	Chat            chat            `json:"chat"`
	ReplyTo         *message        `json:"reply_to_message"`
	Quote           *quote          `json:"quote"`
	Text            string          `json:"text"`
	Entities        []entity        `json:"entities"`
	Caption         string          `json:"caption"`
	CaptionEntities []entity        `json:"caption_entities"`
	TopicCreated    json.RawMessage `json:"forum_topic_created"`
	MigrateTo       int64           `json:"migrate_to_chat_id"`
	MigrateFrom     int64           `json:"migrate_from_chat_id"`

	Photo     []file    `json:"photo"`
	Document  *file     `json:"document"`
	Animation *file     `json:"animation"`
	Audio     *file     `json:"audio"`
	Voice     *file     `json:"voice"`
	Video     *file     `json:"video"`
	VideoNote *file     `json:"video_note"`
	Sticker   *sticker  `json:"sticker"`
	Location  *location `json:"location"`
	Venue     *venue    `json:"venue"`
	Contact   *contact  `json:"contact"`
	Poll      *poll     `json:"poll"`
	Dice      *dice     `json:"dice"`

	Rich      json.RawMessage `json:"rich_message"`
	Checklist *checklist      `json:"checklist"`
	Game      *game           `json:"game"`
	Story     json.RawMessage `json:"story"`
	PaidMedia json.RawMessage `json:"paid_media"`
	Invoice   json.RawMessage `json:"invoice"`
	Giveaway  json.RawMessage `json:"giveaway"`
}

type checklist struct {
	Title string `json:"title"`
	Tasks []struct {
		Text string `json:"text"`
	} `json:"tasks"`
}

type game struct {
	Title string `json:"title"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID       int64  `json:"id"`
	Type     string `json:"type"`
	Title    string `json:"title"`
	Username string `json:"username"`
	IsForum  bool   `json:"is_forum"`
}

type quote struct {
	Text string `json:"text"`
}

type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"`
}

type file struct {
	ID     string `json:"file_id"`
	Name   string `json:"file_name"`
	MIME   string `json:"mime_type"`
	Size   int64  `json:"file_size"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
}

type sticker struct {
	file
	Emoji    string `json:"emoji"`
	Animated bool   `json:"is_animated"`
	Video    bool   `json:"is_video"`
}

type location struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
}

type venue struct {
	Location location `json:"location"`
	Title    string   `json:"title"`
	Address  string   `json:"address"`
}

type contact struct {
	Phone     string `json:"phone_number"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
}

type poll struct {
	Question string `json:"question"`
	Options  []struct {
		Text string `json:"text"`
	} `json:"options"`
}

type dice struct {
	Emoji string `json:"emoji"`
	Value int    `json:"value"`
}

type callback struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}

type member struct {
	Chat chat `json:"chat"`
	From user `json:"from"`
	New  struct {
		Status string `json:"status"`
	} `json:"new_chat_member"`
}

// identity is who the bot is, from getMe.
type identity struct {
	ID       int64  `json:"id"`
	Username string `json:"username"`
	Topics   bool   `json:"has_topics_enabled"`
	ReadAll  bool   `json:"can_read_all_group_messages"`
}

// answer is the envelope of every answer of the Bot API.
type answer struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	ErrorCode   int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int `json:"retry_after"`
	} `json:"parameters"`
}
