package device

// What some processors can do besides. A caller finds out by assertion, and has
// another way where the answer is no:
//
//	if r, able := b.(device.Ragged); able {

// Ragged is attention of sequences of many lengths that are packed one after the
// other instead of padded to the longest; in other libraries "varlen" attention.
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

// Packer rearranges a weight once for all products with it.
type Packer interface {
	// Pack rearranges w, the right matrix of products to come, in its own memory.
	// From then on w may be used as the right matrix of a single MatMul alone, with
	// the same TransB, Alpha 1 and Beta 0 or 1, whose bytes are those of before;
	// anything else reads numbers in another order. Pack reports whether it did: not
	// every shape can be. Free ends it.
	Pack(w Array, transB bool) bool
}

// Graphs records operations, so that launching them again costs one call.
type Graphs interface {
	// Record calls f, whose operations are written down and not carried out. They may
	// be those of Dense, Image and Rank, Copy and Fill: Record fails if f allocates,
	// frees, uploads, downloads or waits. Every operation must have run before on
	// arrays of the same shapes, so that what it takes for itself has its size. It is
	// called from the goroutine of the operations, and so are Run and Close.
	Record(f func()) (Program, error)
}

// Program is a recorded list of operations, on the arrays that it was recorded
// with: what changes from run to run is in their contents.
type Program interface {
	// Run queues the operations again, in their order.
	Run()
	// Close frees what the program holds, after the runs queued so far.
	Close()
}

// Pinned is a processor with memory on the host that it can copy from by itself.
type Pinned interface {
	// HostBuffer makes such a buffer; its contents are undefined. It is nil where
	// there is none to be had.
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
	// Free gives the memory back, after the uploads from it.
	Free()
}
