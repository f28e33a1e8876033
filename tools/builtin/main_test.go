package builtin

import (
	"testing"

	"go.uber.org/goleak"

	"clawbot/tools/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}
