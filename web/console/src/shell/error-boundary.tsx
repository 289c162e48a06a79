import { Component, type ReactNode } from "react";
import { Button, EmptyState } from "../ui/index.ts";

type Props = { children: ReactNode; resetOn: string };
type State = { failed: boolean };

/** A page that breaks does not break the console; going elsewhere or trying again mounts it again. */
export class ErrorBoundary extends Component<Props, State> {
  override state: State = { failed: false };

  static getDerivedStateFromError(): State {
    return { failed: true };
  }

  override componentDidCatch(error: unknown): void {
    console.error(error);
  }

  override componentDidUpdate(before: Props): void {
    if (this.state.failed && before.resetOn !== this.props.resetOn) this.setState({ failed: false });
  }

  override render(): ReactNode {
    if (!this.state.failed) return this.props.children;
    return (
      <div className="page page-wide">
        <h1 className="spoken">Something broke</h1>
        <EmptyState
          title="This page broke"
          action={
            <>
              <Button look="primary" onClick={() => this.setState({ failed: false })}>
                Try again
              </Button>
              {/* A new version may have been installed: its files have other names. */}
              <Button onClick={() => location.reload()}>Reload the console</Button>
            </>
          }
        >
          Nothing was lost on the server. If it happens again, see the browser's developer console.
        </EmptyState>
      </div>
    );
  }
}
