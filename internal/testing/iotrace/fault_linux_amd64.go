package iotrace

// counter is the handler of Count.
type counter struct {
	calls []Call
}

func (c *counter) wants(k Kind) bool { return k.fails() }
func (c *counter) serial() bool      { return false }

func (c *counter) enter(call *call) error {
	c.calls = append(c.calls, call.summary())
	return nil
}

func (c *counter) leave(*call, int64) error { return nil }

// summary returns the description of a call that is about to run.
func (c *call) summary() Call {
	s := Call{Kind: c.shape.kind, Call: c.shape.name, Path: c.path, To: c.to}
	if (s.Kind == Read || s.Kind == Write) && c.shape.length != none {
		s.Size = int64(c.args[c.shape.length]) // for several buffers this is their number; one may suffice
	}
	return s
}

// injector is the handler of Inject.
type injector struct {
	fault Fault
	seen  int
	hit   *Call
}

func (i *injector) wants(k Kind) bool { return k.fails() }
func (i *injector) serial() bool      { return false }

func (i *injector) enter(c *call) error {
	s := c.summary()
	if !i.fault.Applies(s) {
		return nil
	}
	if i.seen++; i.seen != i.fault.N {
		return nil
	}
	i.hit = &s
	if i.fault.Err == 0 {
		return c.shorten(s.Size / 2)
	}
	return c.fail(i.fault.Err)
}

func (i *injector) leave(*call, int64) error { return nil }
