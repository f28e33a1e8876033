package tools

// ScheduleRequest is what the schedule tool asks of a [Conversation].
type ScheduleRequest struct {
	Action string `json:"action"` // set, list or cancel
	// To set: what is to be done, and exactly one of At (a date and time of
	// day), In (a duration from now on) and Cron. Zone is an IANA name.
	Text string `json:"text,omitempty"`
	At   string `json:"at,omitempty"`
	In   string `json:"in,omitempty"`
	Cron string `json:"cron,omitempty"`
	Zone string `json:"zone,omitempty"`
	// To cancel.
	ID string `json:"id,omitempty"`
}

// ScheduleAnswer is what a [Conversation] answers to it, for the model.
type ScheduleAnswer struct {
	Text string `json:"text"`
}
