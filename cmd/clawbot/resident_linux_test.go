package main

import (
	"slices"
	"testing"
)

func TestOnlyPagesThatTheFileStillHasAreGivenBack(t *testing.T) {
	smaps := `00400000-01400000 r-xp 00000000 08:01 12 /usr/bin/clawbot
Rss:               15000 kB
Anonymous:             0 kB
01400000-02400000 r--p 01000000 08:01 12                        /usr/bin/clawbot
Anonymous:             4 kB
02400000-02500000 rw-p 02000000 08:01 12                        /usr/bin/clawbot
Anonymous:             0 kB
02500000-02600000 r--p 02000000 08:01 13                        /usr/bin/other
Anonymous:             0 kB
02600000-02700000 r--p 02100000 08:01 12                        /usr/bin/clawbot
Anonymous:             0 kB
7fff0000-7fff1000 rw-p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x1400000}, {0x2600000, 0x2700000}}
	if got := cleanMappings([]byte(smaps), "/usr/bin/clawbot"); !slices.Equal(got, want) {
		t.Errorf("%x, want %x", got, want)
	}
	releaseText() // and the program runs on
}
