package curate

import (
	"bytes"
	"strconv"

	"hgld/internal/regular"
)

// Salvaged describes the part of a log that Salvage kept.
type Salvaged struct {
	*Contents
	Damage *DamageError // where the valid part of the log ends; nil if the log is sound
	Left   int          // number of lines from the damage to the end of the file
}

// Salvage copies the lines of a log before its damage to a new log, which ends with
// their count. The damaged log stays as it is. No new log is written if the log is
// sound or only has a torn last line, which OpenLog cuts off.
//
// The error is a *DamageError if not even the header is sound, fs.ErrExist if there is
// a file at to, and a *filelock.LockedError if another process is making it.
func Salvage(from, to string) (*Salvaged, error) {
	data, err := regular.ReadFile(from)
	if err != nil {
		return nil, err
	}
	c, err := parseLog(from, data)
	if err == nil {
		return &Salvaged{Contents: c}, nil
	}
	damage := err.(*DamageError) // parseLog returns no other error
	if c.size == 0 {
		return nil, damage
	}
	s := &Salvaged{Contents: c, Damage: damage, Left: bytes.Count(data[c.size:], []byte("\n"))}
	if data[len(data)-1] != '\n' {
		s.Left++
	}
	return s, writeNew(to, c.counted(data[:c.size]))
}

// counted returns the lines of a log with the count in the last one.
func (c *Contents) counted(lines []byte) []byte {
	lines = bytes.Clone(bytes.TrimSuffix(lines, []byte("\n")))
	copy(lines[c.last.at:], strconv.Itoa(len(c.Edits)))
	return append(lines, '\n')
}
