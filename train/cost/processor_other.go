//go:build !unix

package cost

import "time"

// processorTime returns 0: it is unknown on this system.
func processorTime() time.Duration { return 0 }
