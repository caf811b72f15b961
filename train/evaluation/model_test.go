package evaluation

import (
	"strings"
	"testing"

	"hgld/train/device/cpu"
)

func TestOpenRefusesWhatIsNotARun(t *testing.T) {
	if _, err := Open(t.TempDir(), cpu.New(1), nil, false); err == nil ||
		!strings.Contains(err.Error(), "neither a run directory with a checkpoint nor a checkpoint") {
		t.Errorf("error %v", err)
	}
}
