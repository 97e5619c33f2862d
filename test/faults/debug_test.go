//go:build faults

package faults

import (
	"fmt"
	"os"
	"encoding/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func dump(now objects) {
	if os.Getenv("FAULTS_DUMP") == "" {
		return
	}
	for k, o := range now {
		o := o.DeepCopyObject().(client.Object)
		o.SetManagedFields(nil)
		b, _ := json.MarshalIndent(o, "", " ")
		fmt.Printf("%s\n%s\n", k, b)
	}
	fmt.Printf("%+v\n", allLaunchers.running)
}
