package budget

import (
	"errors"
	"testing"
	"time"

	"hgld/internal/testing/must"
)

func TestABudgetEndsAtItsLimits(t *testing.T) {
	b := must.Get(Of(10))(t)
	must.Do(t, b.Expand("names stand for", Spare))
	must.Do(t, b.Expand("names stand for", 10*Expansion))
	for what, err := range map[string]error{
		"names stand for more than 16777856 bytes, which no sound file needs": b.Expand("names stand for", 1),
		"classes have more than 64 levels, which no sound file needs":         Deep("classes have", Depth+1),
	} {
		if !errors.As(err, new(*Error)) || err.Error() != what {
			t.Errorf("%v, want %s", err, what)
		}
	}
	must.Do(t, Deep("classes have", Depth))
	if left := must.Get(Of(Bytes))(t).Left(); left != Bytes {
		t.Errorf("a text of the largest size may stand for %d bytes", left)
	}
	if _, err := Of(Bytes + 1); err == nil {
		t.Error("a text beyond the limit has a budget")
	}
	b.have = Items - 1
	must.Do(t, b.Item("the list has"))
	if b.Item("the list has") == nil {
		t.Error("a list without end goes on")
	}
	b.have, b.counted, b.began = 0, 1022, time.Now().Add(-Time)
	must.Do(t, b.Item("the list has"))
	err := b.Item("the list has")
	if want := "to read it takes more than 600 seconds, which no sound file needs"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
