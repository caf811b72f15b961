package shards

import (
	"crypto/sha256"
	"hash"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

// hashedBytes counts the bytes that a hash and its copies take.
type hashedBytes struct {
	hash.Cloner
	bytes *int
}

func (c hashedBytes) Write(p []byte) (int, error) {
	*c.bytes += len(p)
	return c.Cloner.Write(p)
}

func (c hashedBytes) Clone() (hash.Cloner, error) {
	h, err := c.Cloner.Clone()
	return hashedBytes{h, c.bytes}, err
}

// The keys of thousands of shards do not each hash all classes again, in every slice.
func TestTheClassesAreHashedOnceForAllKeys(t *testing.T) {
	classes := []byte(strings.Repeat("church", 100_000))
	p := &plan{shards: make([]planned, 1000)}
	for i := range p.shards {
		p.shards[i].key = Hash{byte(i), byte(i >> 8)}
	}
	want := sha256.Sum256(append(classes, p.shards[513].key[:]...))
	bytes := 0
	must.Do(t, p.sealKeys(hashedBytes{sha256.New().(hash.Cloner), &bytes}, classes))
	if p.shards[513].key != want {
		t.Errorf("key %x, want %x", p.shards[513].key, want)
	}
	if most := len(classes) + 1000*len(want); bytes > most {
		t.Errorf("%d bytes hashed, want %d", bytes, most)
	}
}
