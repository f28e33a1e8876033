package config

// inherit gives channels what [access] says and they don't. The policies are
// not copied: whoever judges by them falls back itself.
func (c *Config) inherit() {
	if t := c.Channels.Telegram; t != nil {
		c.inheritAccess(&t.ChannelAccess)
		for name, a := range t.Accounts {
			c.inheritAccess(&a.ChannelAccess)
			t.Accounts[name] = a
		}
	}
	if s := c.Channels.Slack; s != nil {
		c.inheritAccess(&s.ChannelAccess)
		for name, a := range s.Accounts {
			c.inheritAccess(&a.ChannelAccess)
			s.Accounts[name] = a
		}
	}
	if d := c.Channels.Discord; d != nil {
		c.inheritAccess(&d.ChannelAccess)
		for name, a := range d.Accounts {
			c.inheritAccess(&a.ChannelAccess)
			d.Accounts[name] = a
		}
	}
}

func (c *Config) inheritAccess(a *ChannelAccess) {
	if a.ReplyIn == "" {
		a.ReplyIn = c.Access.ReplyIn
	}
}
