package channels

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestANonceTellsWhenItWasMadeAndIsNoOther(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		nonce := NewNonce()
		made, ok := NonceTime(nonce)
		if len(nonce) != 24 || seen[nonce] || !ok || time.Since(made) < 0 || time.Since(made) > time.Minute {
			t.Fatalf("%q was made at %s", nonce, made)
		}
		seen[nonce] = true
	}
	synctest.Test(t, func(*testing.T) { // the year 2000 takes as many digits
		if made, ok := NonceTime(NewNonce()); !ok || !made.Equal(time.Now().Truncate(time.Second)) {
			t.Errorf("made at %s", made)
		}
	})
	for _, other := range []string{"", "nonce-7", "!!!!!!ABCDEFGHIJKLMNOPQR", "a nonce of somebody else's"} {
		if made, ok := NonceTime(other); ok {
			t.Errorf("%q was made at %s", other, made)
		}
	}
}
