package main

import (
	"testing"
	"time"
)

// at is a moment so many seconds in.
func at(s int) time.Time { return time.Unix(int64(s), 0) }

func during(from, to int) span { return span{at(from), at(to)} }

func TestAFinalThatIsThereTwiceIsLaidAtTheDoorOfWhatHappenedToItsReplica(t *testing.T) {
	for _, c := range []struct {
		name     string
		hindered map[int][]span
		everyone []span
		want     bool
	}{
		{"nothing happened", nil, nil, false},
		{"its replica was killed before its answer was noted", map[int][]span{1: {during(4, 7)}}, nil, true},
		{"another replica was killed", map[int][]span{2: {during(4, 7)}}, nil, false},
		{"who wrote the second slept until then", map[int][]span{0: {during(4, 10)}}, nil, true},
		{"its replica was killed long before", map[int][]span{1: {during(1, 2)}}, nil, false},
		{"its replica was killed after the second was written", map[int][]span{1: {during(11, 12)}}, nil, false},
		{"Redis was away", nil, []span{during(8, 9)}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &wire{hindered: c.hindered, everyone: c.everyone, writes: map[string][]write{
				messageKey(7, 1): {{1, during(2, 2)}, {1, during(3, 4)}, {0, during(20, 20)}},
				messageKey(7, 2): {{0, during(10, 10)}},
			}}
			if got := w.explains(7, 1, 2); got != c.want {
				t.Errorf("explained: %v", got)
			}
		})
	}
}
