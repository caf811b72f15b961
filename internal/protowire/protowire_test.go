package protowire

import (
	"encoding/hex"
	"testing"
)

// The examples of the encoding's own documentation, and one of each other kind.
func TestFieldsAreEncodedAsDocumented(t *testing.T) {
	for name, c := range map[string]struct {
		got  []byte
		want string
	}{
		"number":   {AppendNumber(nil, 1, 150), "089601"},
		"negative": {AppendNumber(nil, 1, -2), "08feffffffffffffffff01"},
		"string":   {AppendBytes(nil, 2, "testing"), "120774657374696e67"},
		"message":  {AppendBytes(nil, 3, AppendNumber(nil, 1, 150)), "1a03089601"},
		"size":     {AppendSize(nil, 2, 300), "12ac02"},
		"float":    {AppendFloat(nil, 4, 1), "250000803f"},
		"double":   {AppendDouble(nil, 5, 1), "29000000000000f03f"},
		"far":      {AppendNumber([]byte{0xff}, 16, 1), "ff800101"},
	} {
		if got := hex.EncodeToString(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
