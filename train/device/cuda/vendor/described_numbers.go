//go:build nvidia

package vendor

// Numbers of cudnn_graph.h that only tests need, like those of cudnn_numbers.go.
const (
	ofDevice   = 38   // CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR
	deviceJSON = 2702 // CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION
)
