package train

import (
	"hgld/train/device"
	"hgld/train/grad"
)

// recording is a tape that is replayed as a program if the device supports programs and no part of the tape works on
// the host.
type recording struct {
	tape    *grad.Tape
	program device.Program // of the tape; nil: none yet, or the device has none
}

// repeat replays the tape, which has run once.
func (r *recording) repeat(b device.Backend) error {
	graphs, able := b.(device.Graphs)
	if !able || r.tape.OnHost() {
		r.tape.Replay()
		return nil
	}
	if r.program == nil {
		var err error
		if r.program, err = graphs.Record(r.tape.Replay); err != nil {
			return err
		}
	}
	r.program.Run()
	return nil
}

// close frees the program, if there is one.
func (r *recording) close() {
	if r.program != nil {
		r.program.Close()
		r.program = nil
	}
}
