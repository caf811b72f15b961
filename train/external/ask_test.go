package external

import (
	"strings"
	"testing"
	"time"
)

func TestACommandIsAskedWithinLimits(t *testing.T) {
	for _, c := range []struct {
		command []string
		limit   time.Duration
		wants   string // of the answer, or of the error
	}{
		{[]string{"cat"}, time.Minute, "question"},
		{[]string{"sh", "-c", "exit 3"}, time.Minute, "model: sh -c"},
		{[]string{"sh", "-c", "echo why >&2; exit 3"}, time.Minute, "it ended: exit status 3; its last words:\nwhy"},
		{[]string{"true"}, time.Minute, "it ended without an answer"},
		{[]string{"sh", "-c", "sleep 20 & wait"}, 20 * time.Millisecond, "it wrote nothing for 20ms"},
		{[]string{"yes"}, time.Minute, "its answer has more than 1000 bytes"},
		{[]string{"no-such-program"}, time.Minute, "no-such-program"},
	} {
		answer, err := Ask(t.Context(), "model", c.command, "", c.limit, []byte("question"), 1000)
		got := string(answer)
		if err != nil {
			got = err.Error()
		}
		if !strings.Contains(got, c.wants) || (err == nil) != (c.command[0] == "cat") {
			t.Errorf("%q: %q, want %q", c.command, got, c.wants)
		}
	}
}
