package torchfile

// A value of a pickle is nil, bool, int64, float64, string (or bytes), *list, tuple, *dict, *tensor,
// *storage, *array, *blank, *description, unread or global.
type (
	tuple  []any
	global string // "torch._utils._rebuild_tensor_v2"
	mark   struct{}
)

// list is a Python list. It is shared by reference, because it may grow after other values hold it.
type list struct{ items []any }

// dict is a dictionary in insertion order.
type dict struct {
	entries []entry
	at      map[string]int
}

type entry struct{ key, value any }

func (d *dict) get(key string) any {
	if i, found := d.at[key]; found {
		return d.entries[i].value
	}
	return nil
}

func (d *dict) set(key, value any) {
	if text, is := key.(string); is {
		if i, found := d.at[text]; found {
			d.entries[i].value = value
			return
		}
		if d.at == nil {
			d.at = map[string]int{}
		}
		d.at[text] = len(d.entries)
	}
	d.entries = append(d.entries, entry{key, value})
}

// storageKind is the element type of a storage.
type storageKind struct {
	dtype string // of safetensors
	size  int
}

var storageKinds = map[global]storageKind{
	"torch.FloatStorage": {"F32", 4}, "torch.HalfStorage": {"F16", 2}, "torch.BFloat16Storage": {"BF16", 2},
	"torch.DoubleStorage": {"F64", 8}, "torch.LongStorage": {"I64", 8}, "torch.IntStorage": {"I32", 4},
	"torch.ShortStorage": {"I16", 2}, "torch.CharStorage": {"I8", 1}, "torch.ByteStorage": {"U8", 1},
	"torch.BoolStorage": {"BOOL", 1},
}

// The functions and classes that a dictionary of tensors may name, besides the storages.
const (
	rebuildTensor    global = "torch._utils._rebuild_tensor_v2"
	rebuildParameter global = "torch._utils._rebuild_parameter"
	orderedDict      global = "collections.OrderedDict"
	torchSize        global = "torch.Size"
	builtinInt       global = "builtins.int"
	oldBuiltinInt    global = "__builtin__.int"
)

func knownGlobal(g global) bool {
	if _, is := storageKinds[g]; is {
		return true
	}
	switch g {
	case rebuildTensor, rebuildParameter, orderedDict, torchSize, builtinInt, oldBuiltinInt,
		numpyType, numpyArray, numpyRebuild, numpyRebuild2, numpyScalar, numpyScalar2, numpyBuffer, numpyBuffer2,
		codecsEncode, builtinBytes, oldBytes:
		return true
	}
	return false
}

// kindOf describes the kind of a value for a message.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a truth value"
	case int64:
		return "a number"
	case float64:
		return "a number with a fraction"
	case string:
		return "a text"
	case tuple:
		return "a tuple"
	case *list:
		return "a list"
	case *dict:
		return "a dictionary"
	case *tensor:
		return "a tensor"
	case *array:
		return "a NumPy array"
	case *blank:
		return "a NumPy array without elements"
	case *description:
		return "a NumPy type"
	case unread:
		return "a value that is not read (" + v.reason + ")"
	case *storage:
		return "a storage"
	case global:
		return "the name " + string(v)
	}
	return "a mark"
}
