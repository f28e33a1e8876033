package config

// Vendor is a provider that needs no table of its own to be used.
type Vendor struct {
	Name  string // as in "anthropic/claude-sonnet-4-6"
	Env   string // the variable of its key; empty if it wants none
	Model string // "provider/model" that is taken if none is named; empty if that depends on the machine
}

// Vendors lists them in the order in which a model is looked for.
func Vendors() []Vendor {
	var list []Vendor
	for _, p := range presets() {
		v := Vendor{Name: p.name}
		if len(p.env) > 0 {
			v.Env = p.env[0]
		}
		if p.model != "" {
			v.Model = p.name + "/" + p.model
		}
		list = append(list, v)
	}
	return list
}
