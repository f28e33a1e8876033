package memory

import (
	"fmt"
	"testing"
	"time"

	"clawbot/store/memory"
)

func TestEverybodyIsListedInPartsEvenWhenOneCantBeRead(t *testing.T) {
	s := memory.New()
	defer s.Close()
	b := Book{State: s.State()}
	for i := range 5 {
		if _, _, err := b.Add(t.Context(), fmt.Sprint("chat/", i), Fact{Text: fmt.Sprint("fact ", i), At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.State().Put(t.Context(), "memory/chat/2x", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	if _, err := s.State().Put(t.Context(), "memory0", []byte("{"), 0); err != nil {
		t.Fatal(err)
	}
	var users []string
	damaged := 0
	for after, n := "", 0; ; n++ {
		people, next, err := b.All(t.Context(), after, 2)
		if err != nil || n > 3 {
			t.Fatal(n, err)
		}
		for _, p := range people {
			users = append(users, p.User)
			if p.Damaged != "" {
				damaged++
			}
		}
		if next == "" {
			break
		}
		after = next
	}
	if fmt.Sprint(users) != "[chat/0 chat/1 chat/2 chat/2x chat/3 chat/4]" || damaged != 1 {
		t.Errorf("%v, %d damaged", users, damaged)
	}
}
