package sandbox

import (
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkStart reports the median of a program that does nothing, in the
// sandbox and started bare, and their ratio.
func BenchmarkStart(b *testing.B) {
	for _, kind := range kinds {
		b.Run(string(kind), func(b *testing.B) {
			s := New(Config{Kind: kind})
			if _, err := s.Check(); err != nil {
				b.Fatal(err)
			}
			c := Command{Workspace: b.TempDir(), Pipelines: program("true")}
			var in, bare []time.Duration
			for b.Loop() {
				began := time.Now()
				if _, err := s.Run(b.Context(), c); err != nil {
					b.Fatal(err)
				}
				in = append(in, time.Since(began))
				began = time.Now()
				if err := exec.Command(lookup("true")).Run(); err != nil {
					b.Fatal(err)
				}
				bare = append(bare, time.Since(began))
			}
			slices.Sort(in)
			slices.Sort(bare)
			median, of := in[len(in)/2], bare[len(bare)/2]
			b.ReportMetric(float64(median.Microseconds())/1000, "ms-median")
			b.ReportMetric(float64(of.Microseconds())/1000, "ms-bare")
			b.ReportMetric(float64(median)/float64(of), "ratio")
		})
	}
}
