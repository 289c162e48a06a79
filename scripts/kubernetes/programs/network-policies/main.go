// What decides which connections the network policies of a cluster allow, for one node: the controller of
// kube-network-policies. Its own program takes the account of a pod alone; this one takes a kubeconfig.
package main

import (
	"context"
	"flag"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"sigs.k8s.io/kube-network-policies/pkg/networkpolicy"
)

// Kernels may lack what its own rules need (NFT_QUEUE), and rules of its own would outlive a node that is killed. So it
// makes none, on any kernel: no table has a name that long. The node has rules that lead connections to the queue.
var noTable = strings.Repeat("none", 100)

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	node := flag.String("node", "", "the name of the node")
	queue := flag.Int("queue", 0, "the number of the queue in which new connections wait")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer cancel()
	config := networkpolicy.Config{NodeName: *node, NFTableName: noTable, QueueID: *queue}
	if err := run(ctx, *kubeconfig, config); err != nil {
		klog.ErrorS(err, "The network policies of this node are no longer enforced")
		os.Exit(1)
	}
}

func run(ctx context.Context, kubeconfig string, config networkpolicy.Config) error {
	access, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(access)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	controller, err := networkpolicy.NewController(client,
		factory.Networking().V1().NetworkPolicies(), factory.Core().V1().Namespaces(), factory.Core().V1().Pods(),
		nil, nil, nil, nil, config)
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	return controller.Run(ctx)
}
