package memory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
)

// Person is somebody about whom something is remembered.
type Person struct {
	User  string `json:"user"` // "telegram/12345"
	Facts []Fact `json:"facts"`
	// Damaged says why their facts can't be read.
	Damaged string `json:"damaged,omitempty"`
}

// All lists the people about whom something is remembered, sorted, at most limit
// of them from a cursor on; an empty next ends the list.
func (b Book) All(ctx context.Context, after string, limit int) (people []Person, next string, err error) {
	const end = "memory0" // '0' comes after '/'
	values, err := b.State.Range(ctx, cmp.Or(after, prefix), end, limit+1)
	if err != nil {
		return nil, "", fmt.Errorf("list what is remembered: %w", err)
	}
	for i, v := range values {
		if i == limit {
			return people, v.Key, nil
		}
		p := Person{User: strings.TrimPrefix(v.Key, prefix)}
		page, err := decode(v.Data)
		if err != nil {
			p.Damaged = err.Error()
		} else {
			p.Facts = page.Facts
		}
		if len(p.Facts) > 0 || p.Damaged != "" {
			people = append(people, p)
		}
	}
	return people, "", nil
}
