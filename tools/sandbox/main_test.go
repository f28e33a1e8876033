package sandbox

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Main()
	if len(os.Args) > 1 && os.Args[1] == botMarker {
		bot(os.Args[2:])
		return
	}
	goleak.VerifyTestMain(m)
}
