/** One photo of a workout: the server's, or one that waits here and is shown from where it is kept. */
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import type { ShownPhoto } from './overlay.ts';
import { badgeOf } from './words.ts';

interface PhotoItemProps {
  readonly photo: ShownPhoto;
  readonly label: string;
}

export function PhotoItem({ photo, label }: PhotoItemProps): JSX.Element {
  const { id, picture, change } = photo;
  const [source, setSource] = useState(picture ? undefined : `/api/photos/${encodeURIComponent(id)}`);
  const badge = change && badgeOf(change);

  useEffect(() => {
    if (!picture) return;
    const url = URL.createObjectURL(picture);
    setSource(url);
    return () => URL.revokeObjectURL(url);
  }, [picture]);

  return (
    <li class={`photo${badge ? ` photo-${badge.mood}` : ''}`}>
      {source !== undefined && <img src={source} alt={label} loading="lazy" width="84" height="84" />}
      {badge && (
        <span class={`badge badge-${badge.mood}`}>
          <Icon name={badge.icon} />
          {badge.text}
        </span>
      )}
    </li>
  );
}
