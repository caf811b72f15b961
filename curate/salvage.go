package curate

import (
	"bytes"
	"os"
	"strconv"
)

// Salvaged says what Salvage kept of a log.
type Salvaged struct {
	*Contents
	Damage *DamageError // what the log broke off at; nil if it is sound
	Left   int          // lines of the log from there on, of one that was cut those that are there
}

// Salvage writes the lines of a log before its damage to a new log, which ends with
// its count. The damaged log stays as it is. A sound log, or one with a torn line
// alone, which OpenLog cuts by itself, is not written again.
//
// The error is a *DamageError if not even the header is sound, fs.ErrExist if to
// exists, and a *filelock.LockedError if another process makes it.
func Salvage(from, to string) (*Salvaged, error) {
	data, err := os.ReadFile(from)
	if err != nil {
		return nil, err
	}
	c, err := parseLog(from, data)
	if err == nil {
		return &Salvaged{Contents: c}, nil
	}
	damage := err.(*DamageError) // parseLog has no other
	if c.size == 0 {
		return nil, damage
	}
	s := &Salvaged{Contents: c, Damage: damage, Left: bytes.Count(data[c.size:], []byte("\n"))}
	if data[len(data)-1] != '\n' {
		s.Left++
	}
	return s, writeNew(to, c.counted(data[:c.size]))
}

// counted returns the lines of a log, the last of them with the count.
func (c *Contents) counted(lines []byte) []byte {
	digits := []byte(strconv.Itoa(len(c.Edits)))
	if lines = bytes.Clone(bytes.TrimSuffix(lines, []byte("\n"))); c.last.is == uncounted {
		lines = append(bytes.TrimSuffix(lines, []byte(`}`)), countStart...)
		lines = append(append(lines, digits...), lineEnd...)
	}
	if c.last.is == followed {
		copy(lines[c.last.at:], digits)
	}
	return append(lines, '\n')
}
