package providers

// Content reads what Chat Completions and its relatives call content: a string,
// or a list of typed parts, of which text is kept apart from thinking. Parts of
// other kinds are skipped.
func (d *Decoder) Content() (text, thought string) {
	if !d.Is('[') {
		return d.String(), ""
	}
	for d.Array(); d.More(); {
		t, th := d.part()
		text += t
		thought += th
	}
	return text, thought
}

func (d *Decoder) part() (text, thought string) {
	if d.Is('"') {
		return d.String(), ""
	}
	var key []byte
	for d.Object(); d.Key(&key); {
		switch string(key) {
		case "text":
			text += d.String()
		case "thinking":
			if !d.Is('[') {
				thought += d.String()
				continue
			}
			for d.Array(); d.More(); {
				inner, _ := d.part()
				thought += inner
			}
		default:
			d.Skip()
		}
	}
	return text, thought
}
