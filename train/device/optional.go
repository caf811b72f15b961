package device

// Abilities that only some devices have. A caller finds out by assertion, and needs
// another way if a device lacks one:
//
//	if r, able := b.(device.Ragged); able {

// Ragged is attention over a ragged batch: sequences of different lengths, packed one
// after the other instead of padded to the longest. Other libraries call it "varlen"
// attention.
type Ragged interface {
	// RaggedAttention is softmax(q·kᵀ/√Dh)·v of single queries, each with keys of its
	// own: row i of dst [Q,D] is that of the query in row rows[i] of qkv [N,3D], which
	// is packed as Attention's, over the keys and values in the rows keys[from] to
	// keys[upto−1] of qkv, spans[i] being from and upto. rows is I32 [Q], or absent
	// for all rows of qkv; keys I32 [K], spans I32 [Q,2], upto > from. Nothing is
	// padded, and what several sequences have in common is there once. A row depends
	// on its query and its keys alone.
	RaggedAttention(dst, qkv, rows, keys, spans Array, heads int)
}

// Host is a device whose arrays lie in the memory of the host, so that nothing needs to be
// downloaded.
type Host interface {
	// Floats returns the elements of an F32 array without gaps, in its own memory. They are
	// valid until the next operation that writes them.
	Floats(a Array) []float32
}

// Packer rearranges a weight once for all products with it.
type Packer interface {
	// Pack rearranges w, the right matrix of future products, in its own memory. From then
	// on w may only be used as the right matrix of a single MatMul, with the same TransB,
	// Alpha 1 and Beta 0 or 1, whose bytes do not change; other operations read its numbers
	// in another order. Pack reports whether it did: some shapes cannot be packed. Free
	// ends it.
	Pack(w Array, transB bool) bool
}

// Graphs records operations, so that launching them again costs one call.
type Graphs interface {
	// Record calls f, whose operations are recorded and not executed. They may be those of
	// Dense, Image and Rank, Copy and Fill. Record fails if f allocates, frees, uploads,
	// downloads or waits. Every operation must have run before on arrays of the same
	// shapes, so that its scratch memory has its size. Record, Run and Close are called
	// from the goroutine of the operations.
	Record(f func()) (Program, error)
}

// Program is a recorded list of operations on fixed arrays. What changes from run to
// run is in their contents.
type Program interface {
	// Run queues the operations again, in their order.
	Run()
	// Close frees what the program holds, after the runs queued so far.
	Close()
}

// Pinned is a device that can copy from host memory by itself.
type Pinned interface {
	// HostBuffer returns a buffer with undefined contents, or nil if there is none to be
	// had.
	HostBuffer(bytes int) HostBuffer
}

// HostBuffer is page-locked memory on the host.
type HostBuffer interface {
	// Bytes is the memory. It must not be written while an upload reads it.
	Bytes() []byte
	// UploadAsync is Upload to dst of the bytes from the given one on. It returns
	// before they are read, which they are when the Ticket has been waited for.
	// Operations queued from then on find them in dst.
	UploadAsync(dst Array, from int) Ticket
	// Free frees the memory, after the uploads from it.
	Free()
}
