package device

import "time"

// Optional abilities of devices. A caller tests for one by assertion, and needs another way if
// the device lacks it:
//
//	if r, able := b.(device.Ragged); able {

// Ragged is attention over a ragged batch: sequences of different lengths, packed one after
// another instead of padded to the longest. Other libraries call it "varlen" attention.
type Ragged interface {
	// RaggedAttention is softmax(q·kᵀ/√Dh)·v of single queries, each with its own keys. Row i of
	// dst [Q,D] belongs to the query in row rows[i] of qkv [N,3D], which is packed as for
	// Attention. Its keys and values are the rows keys[from] to keys[upto−1] of qkv, where
	// spans[i] is from and upto. rows is I32 [Q], or absent for all rows of qkv; keys is I32 [K],
	// spans I32 [Q,2], upto > from. Nothing is padded, and rows that several sequences share are
	// stored once. A row of the result depends only on its query and its keys.
	RaggedAttention(dst, qkv, rows, keys, spans Array, heads int)
}

// Symmetric is a device that multiplies by a matrix and by its transpose at once: A·x + Aᵀ·x is one
// product of A + Aᵀ.
type Symmetric interface {
	// Symmetrize replaces a, F32 [N,N], by A + Aᵀ. A is a times s, which is one number or one for each
	// row. It reports whether it did so: a device that forwards the call may stand before one that
	// cannot.
	Symmetrize(a, s Array) bool
}

// Discrete is a device that may have memory of its own, apart from the host's: a GPU.
type Discrete interface {
	// OwnMemory reports whether it has.
	OwnMemory() bool
}

// OwnMemory reports whether b has memory apart from the host's.
func OwnMemory(b Memory) bool {
	d, able := b.(Discrete)
	return able && d.OwnMemory()
}

// Crowded is a device whose memory also holds what the device loads while it computes: kernels, libraries and
// their scratch.
type Crowded interface {
	// Room returns an *OutOfMemory if arrays of so many bytes more would leave no room for that in a
	// step with activations of type t.
	Room(bytes int, t DType) error
}

// Host is a device whose arrays are in host memory, so that nothing needs to be downloaded.
type Host interface {
	// Floats returns the elements of an F32 array without gaps, without copying. They are valid
	// until the next operation that writes them.
	Floats(a Array) []float32
}

// Lender is a Host that computes in memory of its caller.
type Lender interface {
	Host
	// Lend returns a buffer over mem, which must be aligned for its elements.
	Lend(mem []byte) Buffer
	// Relend moves a buffer of Lend to other memory, which has its size, so that operations
	// recorded on its arrays run there.
	Relend(b Buffer, mem []byte)
}

// Packer rearranges a weight once for all products with it.
type Packer interface {
	// Pack rearranges w, the right matrix of later products, in place. From then on w may only be
	// used as the right matrix of a single MatMul with the same TransB, Alpha 1 and Beta 0 or 1,
	// whose bytes do not change; other operations would read its numbers in another order. Pack
	// reports whether it did so: some shapes cannot be packed. Free ends it.
	Pack(w Array, transB bool) bool
}

// Collective is a device that works with the devices of other processes, its group. All processes of a
// group call the same operations in the same order, with arrays of the same shapes, without gaps. The
// operations are queued and recorded like others. That a process is gone is a failure of the device.
type Collective interface {
	// Rank returns the number of this process in its group, from 0, and the size of the group.
	Rank() (rank, ranks int)
	// AllReduce replaces a, F32, by the sum over all processes. All get the same bytes.
	AllReduce(a Array)
	// AllGather writes the src of every process, F32 or I32, to dst, one after another in the order of ranks.
	AllGather(dst, src Array)
	// Broadcast replaces a, F32 or I32, by that of rank 0.
	Broadcast(a Array)
}

// Overlapping is a Collective that adds arrays while the device computes something else.
type Overlapping interface {
	Collective
	// Overlaps reports whether this saves time.
	Overlaps() bool
	// AllReduceAside is AllReduce of an array that no other operation uses before Settle.
	AllReduceAside(a Array)
	// Settle makes the operations after it wait for those of AllReduceAside.
	Settle()
}

// Straggling is a Collective that knows how long it has waited for the other processes.
type Straggling interface {
	// Waiting returns the time spent in collective operations so far.
	Waiting() time.Duration
}

// Graphs records operations, so that launching them again costs one call.
type Graphs interface {
	// Record calls f and records its operations without executing them. They may be operations of
	// Dense, Image, Rank and Update, Copy and Fill. Record fails if f allocates, frees, uploads,
	// downloads or waits. Every operation must have run before on arrays of the same shapes, so
	// that its scratch memory has been allocated. Record, Run and Close are called from the
	// goroutine that calls the operations.
	Record(f func()) (Program, error)
}

// Program is a recorded list of operations on fixed arrays. Only the contents of the arrays
// change between runs.
type Program interface {
	// Run queues the operations again, in order.
	Run()
	// Close frees what the program holds, after the runs queued so far.
	Close()
}

// Pinned is a device that can copy from page-locked host memory by itself.
type Pinned interface {
	// HostBuffer returns a buffer with undefined contents, or nil if none is available.
	HostBuffer(bytes int) HostBuffer
}

// HostBuffer is page-locked memory on the host.
type HostBuffer interface {
	// Bytes returns the memory. It must not be written while an upload reads it.
	Bytes() []byte
	// UploadAsync uploads to dst the bytes that begin at from. It returns before they are read;
	// they may be overwritten after Wait on the Ticket. Operations queued afterwards see them in
	// dst.
	UploadAsync(dst Array, from int) Ticket
	// Free frees the memory once its uploads are done.
	Free()
}

// Choosing is a device that can compute some shapes of operations in several ways, whose sums have other orders, and
// that takes the way that it has measured to be the fastest.
type Choosing interface {
	// Choices returns the choices so far. It is zero if nothing is measured.
	Choices() Choices
	// Repeat makes the device take choices of an earlier process, if they are for its kind.
	Repeat(Choices)
}

// Choices are ways to compute operations.
type Choices struct {
	On   string            `json:"on"`   // kind of device, and versions of what computes
	Ways map[string]string `json:"ways"` // by operation and shape
}
